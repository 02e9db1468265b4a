import type { Collection, PendingMutation, Transaction } from '@tanstack/db'
import { OutboxError } from './errors.js'
import { deferred, type Deferred } from './host.js'
import { keyOf, keyText, type Row } from './rows.js'
import type { TanStackDb } from './types.js'
import type { View } from './view.js'

/** A TanStack transaction whose writes are in the Outbox, or on their way there. */
export interface Live {
  readonly id: string
  readonly transaction: Transaction<any>
  /** One Entry for each mutation. */
  readonly entryIds: string[]
  /** Settles when the writes are on disk. */
  readonly stored: Deferred<void>
  /** What TanStack waits for; a replayed transaction has none. */
  readonly handler: Deferred<void> | undefined
  /** It is an action's call: its writes are never sent as such. */
  readonly call: boolean
  /** The Collections it is laid over. */
  readonly views: Set<View>
}

/** An Entry as Go hands it over for replay. */
export interface Replayed {
  id: string
  transaction: string
  op: 'insert' | 'update' | 'delete' | 'action'
  key: string
  name: string
  base?: Row
  changes?: Row
  payload?: unknown
}

/** The metadata by which a replayed mutation is told from one just made. */
export function outboxReplay(entryId: string): { outboxReplay: string } {
  return { outboxReplay: entryId }
}

/** A write as Go reads it: of an Entity, or an action's call. */
export interface Draft {
  id: string
  transaction: string
  /** The Entries that have to be delivered first. */
  after?: string[]
  collection?: string
  key?: string
  op?: 'insert' | 'update' | 'delete'
  base?: Row
  changes?: Row
  action?: string
  queue?: string
  payload?: unknown
}

/** Returns what a mutation writes, as it is stored. */
export function draftOf(mutation: PendingMutation, id: string, transaction: string, { name: collection, codec }: View): Draft {
  if (Number.isNaN(mutation.key) || /\p{Surrogate}/u.test(String(mutation.key))) {
    throw new OutboxError('invalid', `${collection}: the key of a row is ${Number.isNaN(mutation.key) ? 'NaN' : 'half a character'}; getKey must return a number or well-formed text`)
  }
  const draft: Draft = { id, transaction, collection, key: keyText(mutation.key), op: mutation.type }
  if (mutation.type !== 'insert') draft.base = codec.encode(mutation.original)
  if (mutation.type === 'insert') draft.changes = codec.encode(mutation.modified)
  if (mutation.type === 'update') draft.changes = codec.encodeChanges(mutation.modified, mutation.changes as Row)
  return draft
}

/**
 * Makes an overlay transaction that was never committed and never will be: the
 * Outbox settles it. It sorts before everything made in this page.
 */
export function overlay(db: TanStackDb, id: string, call = false): Live {
  const transaction = db.createTransaction({ id, autoCommit: false, mutationFn: async () => undefined })
  transaction.createdAt = new Date(0)
  const stored = deferred<void>()
  stored.resolve()
  return { id, transaction, entryIds: [], stored, handler: undefined, call, views: new Set() }
}

/** Returns the mutation of a stored Entry over the row as it is below it. */
export function mutationOf(entry: Replayed, collection: Collection<any, any>, below: Row | undefined): PendingMutation {
  const key = keyOf(entry.key)
  const original = below ?? entry.base ?? {}
  const now = new Date()
  return {
    mutationId: entry.id,
    type: entry.op,
    key,
    globalKey: `KEY::${JSON.stringify([collection.id, typeof key, String(key)])}`,
    original: entry.op === 'insert' ? {} : original,
    modified: entry.op === 'delete' ? original : { ...original, ...entry.changes },
    changes: entry.op === 'delete' ? original : (entry.changes ?? {}),
    metadata: outboxReplay(entry.id),
    syncMetadata: {},
    optimistic: true,
    createdAt: now,
    updatedAt: now,
    collection,
  } as unknown as PendingMutation
}

/** A transaction's own promise, which nobody has to listen to. */
export function deliveredOf(transaction: Transaction<any>): Promise<void> {
  const delivered = transaction.isPersisted.promise.then(() => undefined)
  delivered.catch(() => undefined)
  return delivered
}
