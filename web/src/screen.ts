import type { Collection, PendingMutation, Transaction } from '@tanstack/db'
import type { Callers } from './callers.js'
import { errorOf, OutboxError, type Failure } from './errors.js'
import { deferred, type Deferred, type Guard } from './host.js'
import { draftOf, mutationOf, overlay, type Draft, type Live, type Replayed } from './live.js'
import { keyText, type Row } from './rows.js'
import { nextTask } from './task.js'
import type { EntryRow, StdCollectionConfig, TanStackDb } from './types.js'
import { written, type Confirmed, type View } from './view.js'

/** What Go found in the store. */
export interface News {
  rows: [collection: string, key: string, row: Row | undefined][]
  settled: [transaction: string, failure?: Failure][]
  entries: EntryRow[]
  gone: string[]
  all: boolean
  stale: boolean
  reset: boolean
}

/** All Collections of a Std Sync on screen, and the transactions it waits for. */
export class Screen {
  readonly #views = new Map<string, View>()
  readonly #starting = new Map<string, Deferred<void>>()
  readonly #lives = new Map<string, Live>()
  readonly #byEntry = new Map<string, Live>()
  readonly #stored = new WeakMap<Transaction<any>, Promise<void>>()
  /** The drafts of this task, and the transaction of each. */
  #batch: { drafts: Draft[]; lives: Live[] } | undefined
  readonly #batches = new Map<number, Live[]>()
  #nextBatch = 0

  constructor(
    readonly go: () => Guard,
    readonly db: TanStackDb,
    readonly callers: Callers,
  ) {}

  add(view: View): void {
    this.#views.set(view.name, view)
    this.#starting.set(view.name, deferred())
  }

  /** Resolves when a Collection's rows and unsent writes are on screen. */
  hydrated(collection: Collection<any, any>): Promise<void> {
    const view = [...this.#views.values()].find((one) => one.collection === collection)
    return (view && this.#starting.get(view.name)?.promise) ?? Promise.resolve()
  }

  /** Puts a Collection's stored rows and Entries on screen. */
  start(view: View): void {
    const started = this.#starting.get(view.name)
    this.go()
      .async('replay', view.name)
      .then(
        () => started?.resolve(),
        (error: unknown) => {
          // What cannot be read is not shown, and what is written will say why.
          view.ready()
          started?.reject(error)
        },
      )
  }

  /** Go has read a Collection. */
  hydrate(name: string, rows: readonly [collection: string, key: string, row: Row | undefined][], entries: readonly Replayed[]): void {
    const view = this.#views.get(name)
    if (!view?.collection) return
    const confirmed = new Map<string, Row | undefined>()
    for (const [, key, row] of rows) if (row !== undefined) confirmed.set(key, row)
    this.#lay(entries, (_, key) => confirmed.get(key))
    view.write([...confirmed])
    view.recompute()
    view.ready()
  }

  /** Lays stored Entries over the rows again. */
  restore(entries: readonly Replayed[]): void {
    for (const view of this.#lay(entries, (view, key) => view.confirmed(key))) view.recompute()
  }

  /** Makes overlays of stored Entries, and returns the Collections they are in. */
  #lay(entries: readonly Replayed[], confirmed: (view: View, key: string) => Row | undefined): Set<View> {
    const touched = new Set<View>()
    const below = new Map<string, Row | undefined>()
    for (const entry of entries) {
      const view = this.#views.get(collectionOf(entry.name))
      const collection = view?.collection
      if (!view || !collection || this.#byEntry.has(entry.id)) continue
      const place = `${entry.name}/${entry.key}`
      const mutation = mutationOf(entry, collection, below.has(place) ? below.get(place) : confirmed(view, entry.key))
      below.set(place, written(mutation, mutation.original as Row))
      const live = this.#lives.get(entry.transaction) ?? overlay(this.db, entry.transaction)
      live.transaction.applyMutations([mutation])
      this.#remember(live, entry.id)
      view.add(live, live.transaction.mutations.length - 1)
      view.track(live)
      live.transaction.setState('persisting')
      touched.add(view)
    }
    return touched
  }

  #remember(live: Live, entryId: string): void {
    this.#lives.set(live.id, live)
    this.#byEntry.set(entryId, live)
    live.entryIds.push(entryId)
    this.#stored.set(live.transaction, live.stored.promise)
  }

  /** TanStack's handlers of a Collection whose writes go through the Outbox. */
  handlers(config: StdCollectionConfig<any, any>) {
    const handler = ({ transaction }: { transaction: Transaction<any> }) => this.record(transaction)
    return {
      ...(config.onInsert && { onInsert: handler }),
      ...(config.onUpdate && { onUpdate: handler }),
      ...(config.onDelete && { onDelete: handler }),
    }
  }

  /**
   * Has a transaction's writes stored, and settles when they are delivered. In
   * order, each waits for the one before it.
   */
  record(transaction: Transaction<any>, inOrder = false): Promise<void> {
    const mutations = transaction.mutations as PendingMutation[]
    const idOf = (n: number) => (mutations.length === 1 ? transaction.id : `${transaction.id}:${n}`)
    const drafts = mutations.map((mutation, n): Draft => {
      const view = this.#viewOf(mutation)
      if (!view) throw new OutboxError('invalid', `the collection "${mutation.collection.id}" does not belong to this Std Sync: write to it in a transaction of its own`)
      const draft = draftOf(mutation, idOf(n), transaction.id, view.name, keyText(mutation.key))
      return inOrder && n > 0 ? { ...draft, after: [idOf(n - 1)] } : draft
    })
    return this.#send(transaction, drafts)
  }

  /** Has an action's call stored, and settles when it is delivered. */
  recordCall(transaction: Transaction<any>, call: { action: string; queue?: string; payload: unknown }): Promise<void> {
    return this.#send(transaction, [{ id: transaction.id, transaction: transaction.id, ...call }])
  }

  /** Lays a stored call of an action over the rows again, by what it does on screen. */
  restoreCall({ id, transaction }: Replayed, onMutate: () => void): void {
    if (this.#byEntry.has(id)) return
    const live = overlay(this.db, transaction)
    live.transaction.mutate(onMutate)
    this.#remember(live, id)
    this.#addTo(live)
    live.transaction.setState('persisting')
  }

  #send(transaction: Transaction<any>, drafts: Draft[]): Promise<void> {
    const handler = deferred<void>()
    const live: Live = { id: transaction.id, transaction, entryIds: [], stored: deferred(), handler }
    for (const draft of drafts) this.#remember(live, draft.id)
    this.#addTo(live)
    this.#enqueue(live, drafts)
    return handler.promise
  }

  /** Counts a transaction's mutations among the unsent of their Collections. */
  #addTo(live: Live): void {
    const mutations = live.transaction.mutations as PendingMutation[]
    mutations.forEach((mutation, at) => this.#viewOf(mutation)?.add(live, at))
  }

  #viewOf(mutation: PendingMutation): View | undefined {
    for (const view of this.#views.values()) {
      if (view.collection === (mutation.collection as unknown)) return view
    }
    return undefined
  }

  /** All writes of one task are stored together. */
  #enqueue(live: Live, drafts: Draft[]): void {
    if (!this.#batch) {
      this.#batch = { drafts: [], lives: [] }
      nextTask(() => this.#flush())
    }
    for (const draft of drafts) {
      this.#batch.drafts.push(draft)
      this.#batch.lives.push(live)
    }
  }

  #flush(): void {
    const batch = this.#batch
    if (!batch) return
    this.#batch = undefined
    const id = ++this.#nextBatch
    this.#batches.set(id, batch.lives)
    try {
      this.go().call('enqueue', id, batch.drafts)
    } catch (error) {
      this.#batches.delete(id)
      for (const live of new Set(batch.lives)) this.#fail(live, error)
    }
  }

  /** Go has stored a batch, but for the refused. */
  stored(batch: number, refused: [index: number, failure: Failure][]): void {
    const lives = this.#batches.get(batch) ?? []
    this.#batches.delete(batch)
    const failures = new Map(refused)
    const failed = new Set<Live>()
    lives.forEach((live, at) => {
      const failure = failures.get(at)
      if (failure && !failed.has(live)) {
        failed.add(live)
        this.#fail(live, errorOf(failure))
      }
    })
    for (const live of lives) if (!failed.has(live)) live.stored.resolve()
  }

  /** Shows what Go found: all rows and all settled transactions together. */
  show(news: News): void {
    if (news.stale) for (const view of this.#views.values()) this.#reload(view)
    const rows = new Map<View, Confirmed[]>()
    for (const [name, key, row] of news.rows) {
      const view = this.#views.get(name)
      if (!view?.hydrated) continue
      const list = rows.get(view)
      if (list) list.push([key, row])
      else rows.set(view, [[key, row]])
    }
    const delivered: Live[] = []
    const failed: [Live, Failure][] = []
    for (const [id, failure] of news.settled) {
      const live = this.#lives.get(id)
      if (live && failure) failed.push([live, failure])
      else if (live) delivered.push(live)
    }
    const touched = new Set<View>()
    for (const live of delivered) {
      for (const view of this.#forget(live)) touched.add(view)
      live.transaction.setState('completed')
    }
    for (const [view, list] of rows) view.write(list)
    for (const view of touched) view.settle()
    for (const live of delivered) {
      live.transaction.collections.clear()
      live.transaction.isPersisted.resolve(live.transaction)
      live.handler?.resolve()
    }
    for (const [live, failure] of failed) this.#fail(live, errorOf(failure, this.callers.causeOf(failure.entryId)))
    if (news.reset) for (const view of this.#views.values()) view.write(view.keys().map((key): Confirmed => [key, undefined]))
  }

  /** Reads a Collection's confirmed rows anew. */
  #reload(view: View): void {
    if (!view.hydrated) return
    this.go()
      .async<[string, string, Row | undefined][]>('replica', view.name)
      .then(
        (rows) => {
          const confirmed = new Map<string, Row | undefined>(view.keys().map((key) => [key, undefined]))
          for (const [, key, row] of rows) confirmed.set(key, row)
          view.write([...confirmed])
        },
        () => undefined, // told as an Event; the next look reads again
      )
  }

  /** Takes a transaction off the screen's books, and returns the Collections it was in. */
  #forget(live: Live): View[] {
    this.#lives.delete(live.id)
    for (const id of live.entryIds) this.#byEntry.delete(id)
    const views = [...this.#views.values()].filter((view) => live.transaction.mutations.some((m: PendingMutation) => (m.collection as unknown) === view.collection))
    for (const view of views) view.remove(live)
    return views
  }

  /** Rolls a transaction back, with what ended its wait. */
  #fail(live: Live, error: unknown): void {
    this.#forget(live)
    live.stored.reject(error)
    if (live.handler) live.handler.reject(error)
    else live.transaction.rollback({ error: error as Error })
  }

  /** The module is dead: nothing it was to settle can resolve any more. */
  abandon(crash: OutboxError): void {
    for (const live of [...this.#lives.values()]) this.#fail(live, crash)
  }

  /** The live transaction of an Entry, or `null`. */
  transaction(id: string): Transaction<any> | null {
    return (this.#byEntry.get(id) ?? this.#lives.get(id))?.transaction ?? null
  }

  /** Resolves when a transaction's writes are on disk. */
  storedOf(transaction: Transaction<any>): Promise<void> {
    const stored = this.#stored.get(transaction) ?? transaction.isPersisted.promise.then(() => undefined)
    stored.catch(() => undefined)
    return stored
  }
}

/** The Collection of a Handler's name; an action has none. */
function collectionOf(name: string): string {
  return name.startsWith('collection:') ? name.slice('collection:'.length) : ''
}
