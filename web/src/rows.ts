import { OutboxError } from './errors.js'

/** What TanStack adds to a row it hands out; never stored. */
const virtualProps = ['$synced', '$origin', '$key', '$collectionId', '$hasPendingWrites']

export type Row = Record<string, unknown>

/** Two rows as one, the second over the first. A `__proto__` field stays data. */
export function spread(row: Row, changes: Row): Row {
  return { ...row, ...changes }
}

/** Whether `row` has every property that `other` has. */
export function covers(row: Row, other: Row): boolean {
  return Object.keys(other ?? {}).every((name) => Object.hasOwn(row ?? {}, name))
}

/** A copy of a value as it is stored. */
export function storableValue(where: string, value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch (error) {
    throw new OutboxError('not-storable', `${where} cannot be stored (${(error as Error).message}); keep functions, DOM nodes and the like out of it`, { cause: error })
  }
}

/** A row's own fields, without virtual properties. */
export function storedFields(row: object): Row {
  const plain: Row = { ...(row as Row) }
  for (const name of virtualProps) delete plain[name]
  return plain
}

/** A copy of a row as it is stored: without virtual properties, and nobody else's. */
export function storable(where: string, row: object): Row {
  const plain = storedFields(row)
  try {
    return structuredClone(plain)
  } catch (error) {
    const field = Object.keys(plain).find((name) => !clones(plain[name]))
    throw new OutboxError('not-storable', `${where}: the field "${field ?? '?'}" cannot be stored (${(error as Error).message}); keep functions, DOM nodes and the like out of rows`, { cause: error })
  }
}

function clones(value: unknown): boolean {
  try {
    structuredClone(value)
    return true
  } catch {
    return false
  }
}

/** A key as text with its type kept apart: `n:1`, `s:1`. */
export function keyText(key: string | number): string {
  return (typeof key === 'number' ? 'n:' : 's:') + String(key)
}

/** The inverse of {@link keyText}. */
export function keyOf(text: string): string | number {
  return text.startsWith('n:') ? Number(text.slice(2)) : text.slice(2)
}
