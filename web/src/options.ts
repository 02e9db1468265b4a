import { OutboxError } from './errors.js'
import type { RequestOptions } from './types.js'

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
  if ('name' in options && options.name === '') throw new OutboxError('invalid', `${where}: the option "name" is empty`)
  for (const name of required) {
    if ((options as Record<string, unknown>)[name] === undefined) {
      throw new OutboxError('invalid', `${where}: the option "${name}" is missing`)
    }
  }
}

/** What `typeof` says of an option, or a Standard Schema, which may be a function too. */
export type OptionType = 'string' | 'number' | 'boolean' | 'function' | 'object' | 'schema'

/** Throws unless an option has the given type, where it is set at all. */
export function checkTypes(where: string, options: object, types: Record<string, OptionType>): void {
  for (const [name, type] of Object.entries(types)) {
    const value = (options as Record<string, unknown>)[name]
    if (value === undefined || (value !== null && typeof value === type) || (type === 'schema' && isSchema(value))) continue
    throw new OutboxError('invalid', `${where}: the option "${name}" must be a ${type === 'schema' ? 'Standard Schema' : type}, not ${value === null ? 'null' : typeof value}`)
  }
}

/** Throws unless an option was made by one of the functions that make it. */
export function checkMade(where: string, name: string, made: { kind: string } | undefined, by: Record<string, string>): void {
  if (made && !Object.hasOwn(by, made.kind)) throw new OutboxError('invalid', `${where}: the option "${name}" must be made by ${Object.values(by).join(' or ')}`)
}

/** Throws unless the option `request` makes sense. */
export function checkRequest(where: string, request: RequestOptions | undefined): void {
  if (!request) return
  checkOptions(`${where}, request`, request, ['timeout'])
  checkTypes(`${where}, request`, request, { timeout: 'number' })
  const { timeout } = request
  if (timeout !== undefined && !(timeout > 0 && timeout < 2 ** 31)) {
    throw new OutboxError('invalid', `${where}, request: the option "timeout" must be a positive number of milliseconds below 2^31, not ${timeout}`)
  }
}

function isSchema(value: unknown): boolean {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value
}
