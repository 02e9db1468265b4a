import isNetworkError from 'is-network-error'
import { describe, type StoredError } from './errors.js'
import { keyText, storable, type Row } from './rows.js'
import { attempt } from './task.js'
import type { Request, StdCollectionConfig, Verdict } from './types.js'

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
export function flyCollection<T extends object>(config: StdCollectionConfig<T, any>): Fly {
  return async ({ op, key, base, changes, latest }, request) => {
    switch (op) {
      case 'insert':
        return confirmedRows(config, [key], await config.onInsert?.([changes as T], request))
      case 'update':
        return confirmedRows(config, [key], await config.onUpdate?.({ current: base as T, updates: changes as Partial<T>, latest: latest as T | undefined }, request))
      default:
        await config.onDelete?.({ current: base as T, latest: latest as T | undefined }, request)
        return []
    }
  }
}

/**
 * The rows among what a callback returned: those that have the key of a written
 * row. Anything else a callback may return, a response for example, is none.
 */
export function confirmedRows<T extends object>(config: StdCollectionConfig<T, any>, keys: readonly string[], returned: unknown): Rows {
  const rows: Rows = []
  for (const value of Array.isArray(returned) ? returned : [returned]) {
    const key = keyIn(config, value)
    if (key === undefined || !keys.includes(key)) continue
    // The Backend has the write, whatever it answered: a row that cannot be kept
    // counts as no answer.
    attempt(() => rows.push([key, storable(config.name, value as object)]))
  }
  return rows
}

function keyIn<T extends object>(config: StdCollectionConfig<T, any>, value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  try {
    const key = config.getKey(value as T) as unknown
    return typeof key === 'string' || typeof key === 'number' ? keyText(key) : undefined
  } catch {
    return undefined
  }
}

/** Whether the Backend could not be reached, by what a callback threw. */
export function isUnreachable(thrown: unknown, classify: readonly (((error: unknown) => Verdict) | undefined)[]): boolean {
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
