import isNetworkError from 'is-network-error'
import type { RowCodec } from './codec.js'
import type { Config } from './collections.js'
import { describe, Waiting, type StoredError } from './errors.js'
import { keyText, storedFields, type Row } from './rows.js'
import { attempt } from './task.js'
import type { Request, Verdict } from './types.js'

/** A Request as Go hands it over. */
export interface Flown {
  id: string
  op: 'insert' | 'update' | 'delete' | 'action'
  key: string
  entryIds: string[]
  attempt: number
  enqueuedAt: number
  base?: Row
  changes?: Row
  payload?: unknown
  latest?: Row
}

/** Confirmed rows by the text of their keys; `undefined` for one that is gone. */
export type Rows = [key: string, row: Row | undefined][]

/** How a flight ended, as Go reads it. */
export type Answer = { rows: Rows } | Refusal

/** What a callback threw, as Go reads it. */
export interface Refusal {
  error: StoredError
  unreachable: boolean
}

/** Runs a Request through a user's callback, and returns what the Backend confirmed. */
export type Fly = (flown: Flown, request: Request) => Promise<Rows>

/** Returns how a Collection's Requests are run. */
export function flyCollection(config: Config, codec: RowCodec): Fly {
  return async (flown, request) => {
    const { op, key } = flown
    const { base, changes, latest } = decoded(codec, flown)
    let returned: unknown
    if (op === 'insert') returned = await callback(config, 'onInsert')([changes], request)
    // A row that was deleted and made again, where nothing else is ever updated.
    else if (op === 'update' && !config.onUpdate && config.onInsert) returned = await config.onInsert([{ ...base, ...changes }], request)
    else if (op === 'update') returned = await callback(config, 'onUpdate')({ current: base, updates: changes as Row, latest }, request)
    else {
      await callback(config, 'onDelete')({ current: base, latest }, request)
      return []
    }
    return stored(codec, confirmedRows(config, [key], returned))
  }
}

/** A callback of a Collection; a write that waits for one that is not there goes on waiting. */
function callback<Name extends 'onInsert' | 'onUpdate' | 'onDelete'>(config: Config, name: Name): NonNullable<Config[Name]> {
  const found = config[name]
  if (!found) throw new Waiting(`"${config.name}" has no ${name} to send a stored write with`)
  return found as NonNullable<Config[Name]>
}

/** What is stored as the app knows it. What does not fit any more waits for code that it fits. */
export function decoded(codec: RowCodec, flown: Pick<Flown, 'op' | 'base' | 'changes' | 'latest'>): { base?: Row; changes?: Row; latest: Row | undefined } {
  try {
    return { ...codec.decodeWrite(flown), latest: flown.latest && codec.decode(flown.latest) }
  } catch (cause) {
    throw new Waiting((cause as Error).message, { cause })
  }
}

/** What a Collection calls for a write. */
export const callbackOf = { insert: 'onInsert', update: 'onUpdate', delete: 'onDelete' } as const

/**
 * The rows among what a callback returned: those that have the key of a written
 * row. Anything else a callback may return, a response for example, is none.
 */
export function confirmedRows(config: Config, keys: readonly string[], returned: unknown): [key: string, row: Row][] {
  const rows: [string, Row][] = []
  for (const value of Array.isArray(returned) ? returned : [returned]) {
    const key = keyIn(config, value)
    if (key !== undefined && keys.includes(key)) rows.push([key, storedFields(value as object)])
  }
  return rows
}

/**
 * Rows as they are stored. The Backend has the write, whatever it answered: a row
 * that cannot be kept counts as no answer.
 */
export function stored(codec: RowCodec, rows: Rows): Rows {
  const kept: Rows = []
  for (const [key, row] of rows) attempt(() => kept.push([key, row && codec.encode(row)]))
  return kept
}

function keyIn(config: Config, value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    const key = config.getKey(value) as unknown
    return typeof key === 'string' || typeof key === 'number' ? keyText(key) : undefined
  } catch {
    return undefined
  }
}

/** Whether the Backend could not be reached, by what a callback threw. */
export function isUnreachable(thrown: unknown, classify: readonly (((error: unknown) => Verdict) | undefined)[]): boolean {
  if (thrown instanceof Waiting) return true
  for (const look of classify) {
    let verdict: Verdict
    attempt(() => (verdict = look?.(thrown)))
    if (verdict !== undefined) return verdict === 'unreachable'
  }
  const { name, _tag } = (thrown ?? {}) as { name?: unknown; _tag?: unknown }
  return name === 'OutboxUnreachable' || _tag === 'OutboxUnreachable' || isNetworkError(thrown)
}

/** Returns what a callback threw as Go reads it. */
export function refusal(thrown: unknown, classify: readonly (((error: unknown) => Verdict) | undefined)[]): Refusal {
  return { error: describe(thrown), unreachable: isUnreachable(thrown, classify) }
}
