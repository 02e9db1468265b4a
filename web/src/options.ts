import { OutboxError } from './errors.js'

/** Throws unless `options` has only known names, and all required ones. */
export function checkOptions(where: string, options: object, known: readonly string[], required: readonly string[] = []): void {
  if (typeof options !== 'object' || options === null) {
    throw new OutboxError('invalid', `${where}: give an object of options, not ${String(options)}`)
  }
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw new OutboxError('invalid', `${where}: unknown option "${name}"; known are ${known.join(', ')}`)
    }
  }
  for (const name of required) {
    if ((options as Record<string, unknown>)[name] === undefined) {
      throw new OutboxError('invalid', `${where}: the option "${name}" is missing`)
    }
  }
}

/** Throws unless an option has the given type, where it is set at all. */
export function checkTypes(where: string, options: object, types: Record<string, 'string' | 'number' | 'boolean' | 'function' | 'object'>): void {
  for (const [name, type] of Object.entries(types)) {
    const value = (options as Record<string, unknown>)[name]
    if (value !== undefined && typeof value !== type) {
      throw new OutboxError('invalid', `${where}: the option "${name}" must be a ${type}, not ${typeof value}`)
    }
  }
}
