import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Collection, CollectionConfig, DebounceStrategyOptions, QueueStrategyOptions, ThrottleStrategyOptions, Transaction } from '@tanstack/db'
import type { OutboxError, StoredError } from './errors.js'

/** The part of `@tanstack/db` this package uses. Pass the app's own copy. The last four are needed for `pacing` only. */
export type TanStackDb = Pick<typeof import('@tanstack/db'), 'createCollection' | 'createTransaction' | 'createOptimisticAction'> &
  Partial<Pick<typeof import('@tanstack/db'), 'createPacedMutations' | 'debounceStrategy' | 'throttleStrategy' | 'queueStrategy'>>

export interface LoadOptions {
  /** Where `outbox.wasm` is served; beside this module by default. */
  wasmUrl?: string | URL
  /** The app's own `@tanstack/db`; imported by name by default. */
  db?: TanStackDb
}

/** The loaded module. */
export interface Outbox {
  /** Makes a Std Sync. Returns at once; the store opens behind it. */
  createStdSync(config: StdSyncConfig): StdSync
}

/** Where a Std Sync lives. Made by {@link browser} or {@link memory}. */
export interface Platform {
  readonly kind: 'browser' | 'memory'
  readonly databaseName?: string
  readonly persist?: boolean
  readonly connectivity?: Connectivity
}

/** Tells whether a network is there. `true` proves nothing. */
export interface Connectivity {
  isOnline(): boolean
  /** Calls `listener` after every change until the returned function is called. */
  subscribe(listener: () => void): () => void
}

/** `'unreachable'` keeps the write pending, `'failed'` gives up; `undefined` leaves it to the Outbox. */
export type Verdict = 'unreachable' | 'failed' | undefined

export interface StdSyncConfig {
  /** Scope it to the user: two users of one browser must not share one. */
  name: string
  /** `memory()` when absent. */
  platform?: Platform
  /** Off by default: writes then go straight to the callbacks. */
  outbox?: boolean
  /** The version of what the app stores. */
  version?: number
  /**
   * Keeps an Entry of a store of another version, as it returns it, or drops it
   * with `null`. It may change `name`, `base`, `changes` and `payload`. Without it,
   * another version drops everything. Synchronous.
   */
  migrate?: (entry: EntryRow, fromVersion: number) => EntryRow | null | undefined
  /** Looks at what a callback threw. */
  classify?: (error: unknown) => Verdict
  /** Called with everything that happens in this tab. */
  onEvent?: (event: OutboxEvent) => void
  /** How many Requests fly at once; 6 by default. */
  concurrency?: number
  /** Runs the Effects that callbacks return: a `ManagedRuntime`, or `{ runPromise: Effect.runPromise }`. */
  runtime?: Runtime
}

/** What runs an Effect. Its promise rejects with what the Effect failed with. */
export interface Runtime {
  runPromise(effect: any, options?: { signal?: AbortSignal }): Promise<unknown>
}

/** The second argument of every callback. */
export interface Request {
  /** The same over retries and reloads: send it so that the Backend can tell a repeat. */
  readonly idempotencyKey: string
  /** Aborts when this tab stops leading, on reset, and on dispose. */
  readonly signal: AbortSignal
  readonly entryIds: readonly string[]
  /** Counts flights of this Request, from 1. */
  readonly attempt: number
  /** When the oldest write was made, in ms since the epoch. */
  readonly enqueuedAt: number
}

/** What a callback may return: the stored row or rows, or nothing. */
export type Stored<T> = T | readonly T[] | void | undefined | null | unknown

export interface UpdateArgs<T> {
  /** The row as the user saw it when the first of these edits was made. */
  current: T
  /** The changed fields. A removed field is `undefined`. */
  updates: Partial<T>
  /** The confirmed row as it is now, if there is one. */
  latest: T | undefined
}

export interface DeleteArgs<T> {
  current: T
  latest: T | undefined
}

export interface PullConfig<T> {
  /** Returns what changed since `cursor`, which is `undefined` at first. */
  fetch(args: { cursor: any; signal: AbortSignal }): Promise<{
    rows: readonly T[]
    deleted?: readonly (string | number)[]
    cursor: unknown
    /** Fetch again at once. */
    more?: boolean
  }>
  /** Milliseconds between fetches. */
  every: number
}

/** How a Collection learns of rows. Made by {@link syncStrategy}. */
export interface SyncStrategy<T> {
  readonly kind: 'pull'
  readonly config: PullConfig<T>
}

/**
 * Turns rows into what structured clone can carry, and back. It is given whole rows,
 * changes values, and keeps the names of the fields. Synchronous.
 */
export interface Codec<T, Stored extends object = any> {
  encode(row: T): Stored
  decode(stored: Stored): T
}

/** When updates are sent that no Outbox paces. Made by {@link paceStrategy}. */
export type PaceStrategy =
  | { readonly kind: 'debounce'; readonly options: DebounceStrategyOptions }
  | { readonly kind: 'throttle'; readonly options: ThrottleStrategyOptions }
  | { readonly kind: 'queue'; readonly options: QueueStrategyOptions | undefined }

/** What `collection.utils` of a Std Sync's Collection holds. */
export type StdUtils<T extends object, TKey extends string | number> = {
  /** `update`, at the Collection's pace. With an Outbox it is `update`: the Outbox paces. */
  pacedUpdate: Collection<T, TKey>['update']
}

/** A Collection of a Std Sync. */
export type StdCollection<T extends object, TKey extends string | number> = Collection<T, TKey, StdUtils<T, TKey>>

/** How a Collection's or an action's Requests are made. */
export interface RequestOptions {
  /**
   * Milliseconds after which a Request is aborted and counts as unreachable: it is
   * sent again under the same key, since it may have arrived. Without it, a Request
   * has all the time it takes.
   */
  timeout?: number
}

export type StdCollectionConfig<T extends object, TKey extends string | number = string | number> = CollectionParts<T> &
  (
    | { single?: false; getKey: (row: T) => TKey }
    /** The Collection has one row, which is only ever updated. Its key is the Collection's name if nothing tells. */
    | { single: true; getKey?: (row: T) => TKey }
  )

interface CollectionParts<T extends object> {
  /** Unique in its Std Sync, and stable: what is stored is found by it. */
  name: string
  schema?: StandardSchemaV1<any, T>
  /** For rows that structured clone cannot carry. */
  codec?: Codec<T>
  onInsert?: (rows: T[], request: Request) => Promise<Stored<T>> | Stored<T>
  onUpdate?: (args: UpdateArgs<T>, request: Request) => Promise<Stored<T>> | Stored<T>
  onDelete?: (args: DeleteArgs<T>, request: Request) => Promise<unknown> | unknown
  sync?: SyncStrategy<T>
  /** A number or text that grows with every change of a row. */
  version?: (row: T) => number | string
  /** `false` opts this Collection out. */
  outbox?: boolean
  classify?: (error: unknown) => Verdict
  request?: RequestOptions
  /** When `utils.pacedUpdate` sends, where there is no Outbox. */
  pacing?: PaceStrategy
  /** TanStack's: ms without a subscriber until the rows leave memory. */
  gcTime?: number
}

/** How {@link StdSync.wrap} treats a Collection. */
export interface WrapConfig {
  /** Unique in its Std Sync, and stable: what is stored is found by it. */
  name: string
  /** For rows that structured clone cannot carry. */
  codec?: Codec<any>
  classify?: (error: unknown) => Verdict
  request?: RequestOptions
}

export interface OfflineActionConfig<In, Out = In> {
  /** Unique in its Std Sync, and stable: what is stored is found by it. */
  name: string
  /** Checks the payload of a call, and of a stored one when it is replayed or sent. */
  payload?: StandardSchemaV1<In, Out>
  /** What a call does on screen. Synchronous; its writes are the action's own and never sent as such. */
  onMutate: (payload: Out) => void
  /** Sends the call. */
  mutationFn: (payload: Out, request: Request) => Promise<unknown> | unknown
  /** Calls of one queue are sent one after another; all calls share one when absent. */
  queue?: (payload: Out) => string | number
  classify?: (error: unknown) => Verdict
  request?: RequestOptions
}

/** Calls an Offline Action. `delivered` settles when the Backend has the call, or refused it. */
export type OfflineAction<In> = (payload: In) => Transaction<any> & { readonly delivered: Promise<void> }

/** A row of `std.outbox.entity`. */
export interface EntryRow {
  id: string
  queue: string
  /** The Handler's: `collection:<name>` or `action:<name>`. */
  name: string
  status: 'pending' | 'in-request' | 'failed'
  seq: number
  /** In ms since the epoch; for people, not for order. */
  enqueuedAt: number
  op: 'insert' | 'update' | 'delete' | 'action'
  key?: string | number
  base?: unknown
  changes?: unknown
  payload?: unknown
  after?: string[]
  /** Counts flights. */
  attempt: number
  requestId?: string
  error?: StoredError
}

export interface OutboxStatus {
  pending: number
  inRequest: number
  failed: number
  /** When the oldest unsent write was made, in ms since the epoch. */
  oldestAt: number | null
  /** This tab sends. */
  leader: boolean
  online: boolean
  /** Why nothing moves: `online`, `handler:<name>`, `backoff`, `paused`, or `null`. */
  waitingFor: string | null
}

export type OutboxEventType =
  | 'enqueued' | 'claimed' | 'flown' | 'delivered' | 'folded-away' | 'unreachable' | 'failed' | 'discarded'
  | 'retried' | 'replayed' | 'replay-skipped' | 'gate-open' | 'leader' | 'follower' | 'online' | 'offline'
  | 'paused' | 'resumed' | 'reset' | 'version-dropped' | 'superseded' | 'persist' | 'storage' | 'request-slow'
  | 'crashed' | 'restarted'

export interface OutboxEvent {
  type: OutboxEventType
  /** In ms since the epoch. */
  at: number
  /** The Std Sync's name. */
  sync: string
  entryIds?: string[]
  queue?: string
  name?: string
  attempt?: number
  error?: OutboxError
  count?: number
  granted?: boolean
}

export interface StdOutbox {
  /** Every stored Entry, live, the same in every tab. Read-only. */
  readonly entity: Collection<EntryRow, string>
  /** The live TanStack transaction of an Entry in this tab, or `null`. */
  transaction(id: string): Transaction<any> | null
  /** Deletes an Entry for good. Rejects with `in-request` while it is being sent. */
  discard(id: string): Promise<void>
  /** Makes a failed Entry pending again, under a new idempotency key. */
  retry(id: string): Promise<void>
  /** Resolves once the transaction's writes are on disk. */
  stored(transaction: Transaction<any>): Promise<void>
  /** Resolves once the Backend has the transaction's writes. */
  delivered(transaction: Transaction<any>): Promise<void>
  status(): OutboxStatus
  /** Calls `listener` after every change until the returned function is called. */
  subscribe(listener: (status: OutboxStatus) => void): () => void
  /** Tries now, whatever the backoff. */
  drain(): void
  /** Stops sending in every tab. */
  pause(): Promise<void>
  /** Goes on sending in every tab. */
  resume(): Promise<void>
}

export interface StdSync {
  readonly name: string
  /** Makes a TanStack Collection. */
  collection<T extends object, TKey extends string | number = string | number>(config: StdCollectionConfig<T, TKey>): StdCollection<T, TKey>
  /** The options of a TanStack Collection, for `createCollection` or a `DbClient`. */
  collectionOptions<T extends object, TKey extends string | number = string | number>(config: StdCollectionConfig<T, TKey>): CollectionConfig<T, TKey, never, StdUtils<T, TKey>> & { utils: StdUtils<T, TKey>; schema?: never }
  /**
   * Puts the Outbox under options of any TanStack Collection, with a source and
   * handlers of its own, and returns options for `createCollection`. Its handlers
   * become the Requests: they are called later, with `{ transaction, collection,
   * request }`, where `transaction.id` is the idempotency key and
   * `transaction.mutations` the one folded write of a row. Its rows are the source's,
   * and are neither stored nor wiped by a reset. Without an Outbox the options are
   * returned as they are.
   */
  wrap<Options extends CollectionConfig<any, any, any, any>>(options: Options, config: WrapConfig): Options
  /** Makes an operation that is stored as a call, shown at once, and sent when it can be. */
  createOfflineAction<In, Out = In>(config: OfflineActionConfig<In, Out>): OfflineAction<In>
  /**
   * Runs writes as one transaction that is stored as a whole; each is sent only
   * once those before it are delivered, and fails unsent if one of them fails.
   */
  inOrder(write: () => void): Transaction<any>
  /** For an app's own `createTransaction({ mutationFn: std.mutationFn })`. */
  readonly mutationFn: (params: { transaction: Transaction<any> }) => Promise<void>
  readonly outbox: StdOutbox
  /** The stored and pending rows of the boot Collections are on screen, and sending may begin. */
  readonly ready: Promise<void>
  /**
   * Deletes everything of this Std Sync, in every tab, as a logout does: what is
   * unsent is dropped, or with `refuse` the reset rejects with `unsent`. The
   * Collections stay, and everything goes on empty. Resolves with how many Entries
   * were dropped.
   */
  reset(options?: { unsent?: 'drop' | 'refuse' }): Promise<{ dropped: number }>
  /** Stops this tab's part. What is stored stays. */
  dispose(): Promise<void>
}
