import type { PendingMutation, Transaction } from '@tanstack/db'
import type { Callers } from './callers.js'
import type { Config } from './collections.js'
import { errorOf, OutboxError, type Failure } from './errors.js'
import { deferred, type Deferred, type Guard } from './host.js'
import { deliveredOf, draftOf, mutationOf, overlay, type Draft, type Live, type Replayed } from './live.js'
import { keyText, type Row } from './rows.js'
import { attempt, nextTask } from './task.js'
import type { EntryRow, OutboxEvent, TanStackDb } from './types.js'
import { written, type Confirmed, type View } from './view.js'

/** A row of the Sync Replica; `undefined` for one that is gone. */
type StoredRow = [collection: string, key: string, row: Row | undefined]

/** What Go found in the store. */
export interface News {
  rows: StoredRow[]
  settled: [transaction: string, failure?: Failure, restTransaction?: string, rest?: string[]][]
  delivered: string[]
  entries: EntryRow[]
  gone: string[]
  all: boolean
  stale: boolean
  reset: boolean
}

/** Tells an Event. */
export type Tell = (event: Omit<OutboxEvent, 'at' | 'sync'>) => void

/** All Collections of a Std Sync on screen, and the transactions it waits for. */
export class Screen {
  readonly #views = new Map<string, View>()
  readonly #starting = new Map<string, Deferred<void>>()
  readonly #lives = new Map<string, Live>()
  readonly #byEntry = new Map<string, Live>()
  readonly #stored = new WeakMap<Transaction<any>, Promise<void>>()
  readonly #delivered = new WeakMap<Transaction<any>, Promise<void>>()
  /** The drafts of this task, and the transaction of each. */
  #batch: { drafts: Draft[]; lives: Live[] } | undefined
  readonly #batches = new Map<number, Live[]>()
  /** The module is dead and a fresh one on its way. */
  #resting = false
  #nextBatch = 0

  constructor(
    readonly go: () => Guard,
    readonly db: TanStackDb,
    readonly callers: Callers,
    readonly tell: Tell,
    /** A Collection's rows are there. */
    readonly shown: () => void,
  ) {}

  add(view: View): void {
    this.#views.set(view.name, view)
    this.#starting.set(view.name, deferred())
  }

  /** Resolves when the rows and unsent writes of all Collections that have started are on screen. */
  hydrated(): Promise<PromiseSettledResult<void>[]> {
    const started = [...this.#views.values()].filter(({ collection }) => collection)
    return Promise.allSettled(started.map(({ name }) => this.#starting.get(name)?.promise))
  }

  /** Puts a Collection's stored rows and Entries on screen. */
  start(view: View, misses = 0): void {
    const started = this.#starting.get(view.name)
    this.go()
      .async('replay', view.name)
      .then(
        () => started?.resolve(),
        (error: unknown) => {
          // What cannot be read is not shown yet, and what is written will say why.
          view.ready()
          started?.reject(error)
          if (error instanceof OutboxError && error.code === 'storage') setTimeout(() => this.start(view, misses + 1), Math.min(30_000, 1_000 * 2 ** misses))
        },
      )
  }

  /** Go has read a Collection. */
  hydrate(name: string, rows: readonly StoredRow[], entries: readonly Replayed[]): void {
    const view = this.#views.get(name)
    if (!view?.collection) return
    const confirmed = new Map<string, Row | undefined>(view.keys().map((key) => [key, undefined]))
    for (const [key, row] of this.#known(view, rows)) if (row !== undefined || confirmed.has(key)) confirmed.set(key, row)
    // The overlays first: a commit tells of the rows it writes and of no others.
    this.#lay(entries, (view, key) => (confirmed.has(key) ? confirmed.get(key) : view.confirmed(key)))
    attempt(() => view.recompute())
    attempt(() => view.write([...confirmed]))
    view.ready()
    this.shown()
  }

  /** Lays stored Entries over the rows again. */
  restore(entries: readonly Replayed[]): void {
    for (const [view, keys] of this.#lay(entries, (view, key) => view.confirmed(key))) {
      view.rebase(keys)
      attempt(() => view.recompute())
    }
  }

  /** Makes overlays of stored Entries, and returns the Collections and keys they are in. */
  #lay(entries: readonly Replayed[], confirmed: (view: View, key: string) => Row | undefined): Map<View, Set<string>> {
    const touched = new Map<View, Set<string>>()
    const below = new Map<string, Row | undefined>()
    const laid = new Map<Live, [View, PendingMutation, entryId: string][]>()
    for (const stored of entries) {
      const view = this.#views.get(collectionOf(stored.name))
      const collection = view?.collection
      if (!view || !collection || this.#byEntry.has(stored.id)) continue
      const entry = this.#decoded(view, stored)
      if (!entry) continue
      const place = `${entry.name}/${entry.key}`
      const mutation = mutationOf(entry, collection, below.has(place) ? below.get(place) : confirmed(view, entry.key))
      below.set(place, written(mutation, mutation.original as Row))
      const live = this.#lives.get(entry.transaction) ?? overlay(this.db, entry.transaction)
      this.#lives.set(live.id, live)
      const mutations = laid.get(live) ?? []
      mutations.push([view, mutation, entry.id])
      laid.set(live, mutations)
      touched.set(view, (touched.get(view) ?? new Set()).add(entry.key))
    }
    for (const [live, mutations] of laid) this.#layOver(live, mutations)
    return touched
  }

  /** A stored Entry as the app knows it. One that does not fit any more is not shown. */
  #decoded({ codec }: View, entry: Replayed): Replayed | undefined {
    try {
      return { ...entry, ...codec.decodeWrite(entry) }
    } catch (error) {
      this.tell({ type: 'replay-skipped', name: entry.name, entryIds: [entry.id], error: error as OutboxError })
      return undefined
    }
  }

  /** Stored rows as the app knows them. One that does not fit any more is not shown. */
  #known(view: View, rows: readonly StoredRow[]): Confirmed[] {
    const known: Confirmed[] = []
    for (const [, key, row] of rows) {
      try {
        known.push([key, row && view.codec.decode(row)])
      } catch (error) {
        this.tell({ type: 'storage', name: `collection:${view.name}`, error: error as OutboxError })
      }
    }
    return known
  }

  #layOver(live: Live, laid: readonly [View, PendingMutation, entryId: string][]): void {
    const from = live.transaction.mutations.length
    live.transaction.applyMutations(laid.map(([, mutation]) => mutation))
    laid.forEach(([view, , entryId], n) => {
      this.#remember(live, entryId)
      view.add(live, from + n)
      view.track(live)
    })
    live.transaction.setState('persisting')
  }

  #remember(live: Live, entryId: string): void {
    this.#lives.set(live.id, live)
    this.#byEntry.set(entryId, live)
    live.entryIds.push(entryId)
    this.#stored.set(live.transaction, live.stored.promise)
  }

  /** TanStack's handlers of a Collection whose writes go through the Outbox. */
  handlers(config: Config) {
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
      const draft = draftOf(mutation, idOf(n), transaction.id, this.#viewOf(mutation) as View)
      return inOrder && n > 0 ? { ...draft, after: [idOf(n - 1)] } : draft
    })
    return this.#send(transaction, drafts)
  }

  /** Has an action's call stored, and settles when it is delivered. */
  recordCall(transaction: Transaction<any>, call: { action: string; queue?: string; payload: unknown }): Promise<void> {
    return this.#send(transaction, [{ id: transaction.id, transaction: transaction.id, ...call }])
  }

  /** Lays a stored call of an action over the rows again, by what it does on screen; returns whether it was not there. */
  restoreCall({ id, transaction }: Replayed, onMutate: () => void): boolean {
    if (this.#byEntry.has(id)) return false
    const live = overlay(this.db, transaction, true)
    live.transaction.mutate(onMutate)
    this.#remember(live, id)
    this.#addTo(live)
    live.transaction.setState('persisting')
    return true
  }

  #send(transaction: Transaction<any>, drafts: Draft[]): Promise<void> {
    const handler = deferred<void>()
    // TanStack takes one that wrote nothing for done.
    if (transaction.mutations.length === 0) this.#delivered.set(transaction, handler.promise)
    const live: Live = { id: transaction.id, transaction, entryIds: [], stored: deferred(), handler, call: drafts[0]?.action !== undefined, views: new Set() }
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
      nextTask(() => this.flush())
    }
    for (const draft of drafts) {
      this.#batch.drafts.push(draft)
      this.#batch.lives.push(live)
    }
  }

  /** Hands over what this task has written so far. */
  flush(): void {
    const batch = this.#batch
    if (!batch || this.#resting) return
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
    const delivered: Live[] = []
    const failed: [Live, Failure, restTransaction: string, rest: string[]][] = []
    for (const [id, failure, restTransaction = '', rest = []] of news.settled) {
      const live = this.#lives.get(id)
      if (live && failure) failed.push([live, failure, restTransaction, rest])
      else if (live) delivered.push(live)
    }
    const touched = new Set<View>()
    for (const id of news.delivered) this.#part(id, touched)
    for (const live of delivered) {
      if (!live.call) for (const view of live.views) for (const at of view.places(live)) attempt(() => view.delivered(live, at))
      for (const view of this.#forget(live)) touched.add(view)
      live.transaction.setState('completed')
    }
    for (const [view, rows] of this.#rowsOf(news)) attempt(() => view.write(rows))
    for (const view of touched) attempt(() => view.settle())
    for (const live of delivered) {
      live.transaction.collections.clear()
      live.transaction.isPersisted.resolve(live.transaction)
      live.handler?.resolve()
    }
    for (const [live, failure, restTransaction, rest] of failed) {
      const layRest = this.#keep(live, restTransaction, rest)
      this.#fail(live, errorOf(failure, this.callers.causeOf(failure.entryId)))
      layRest()
    }
    if (news.reset) for (const view of this.#views.values()) attempt(() => view.write(view.keys().map((key): Confirmed => [key, undefined])))
  }

  #rowsOf(news: News): Map<View, Confirmed[]> {
    const rows = new Map<View, StoredRow[]>()
    for (const row of news.rows) {
      const view = this.#views.get(row[0])
      if (!view?.hydrated) continue
      const list = rows.get(view)
      if (list) list.push(row)
      else rows.set(view, [row])
    }
    return new Map([...rows].map(([view, list]) => [view, this.#known(view, list)]))
  }

  /** One Entry of a transaction that waits on is delivered: its row is confirmed. */
  #part(entryId: string, touched: Set<View>): void {
    const live = this.#byEntry.get(entryId)
    if (!live || live.entryIds.length === 1) return
    this.#byEntry.delete(entryId)
    const at = live.entryIds.indexOf(entryId)
    for (const view of live.views) {
      if (view.places(live).includes(at)) attempt(() => view.delivered(live, at))
      view.drop(live, at)
      touched.add(view)
    }
  }

  /** Keeps on screen what a failed transaction has left to be sent, once that is off. */
  #keep(live: Live, transaction: string, entryIds: readonly string[]): () => void {
    const kept = entryIds.flatMap((id): [View, PendingMutation, string][] => {
      const mutation = (live.transaction.mutations as PendingMutation[])[live.entryIds.indexOf(id)]
      const view = mutation && this.#viewOf(mutation)
      return view && mutation.optimistic ? [[view, { ...mutation }, id]] : []
    })
    return () => {
      if (kept.length === 0) return
      const rest = overlay(this.db, transaction)
      this.#lives.set(transaction, rest)
      this.#layOver(rest, kept)
      for (const [view, mutation] of kept) {
        view.rebase([keyText(mutation.key)])
        attempt(() => view.recompute())
      }
    }
  }

  /** Reads a Collection's confirmed rows anew. */
  #reload(view: View): void {
    if (!view.hydrated) return
    this.go()
      .async<StoredRow[]>('replica', view.name)
      .then(
        (rows) => {
          const confirmed = new Map<string, Row | undefined>(view.keys().map((key) => [key, undefined]))
          for (const [key, row] of this.#known(view, rows)) confirmed.set(key, row)
          view.write([...confirmed])
        },
        () => undefined, // told as an Event; the next look reads again
      )
  }

  /** Takes a transaction off the screen's books, and returns the Collections it was in. */
  #forget(live: Live): View[] {
    this.#lives.delete(live.id)
    for (const id of live.entryIds) this.#byEntry.delete(id)
    const views = [...live.views]
    for (const view of views) view.remove(live)
    return views
  }

  /** Rolls a transaction back, with what ended its wait. */
  #fail(live: Live, error: unknown): void {
    this.#forget(live)
    live.stored.reject(error)
    if (live.handler) live.handler.reject(error)
    else attempt(() => live.transaction.rollback({ error: error as Error }))
  }

  /** The module is dead: nothing it was to settle can resolve any more. */
  abandon(crash: OutboxError, again: boolean): void {
    this.#resting = again
    this.#batch = undefined
    this.#batches.clear()
    for (const live of [...this.#lives.values()]) this.#fail(live, crash)
  }

  /** Tells the module something, unless it is dead and a fresh one will be told all. */
  serving(tell: () => void): void {
    if (!this.#resting) tell()
  }

  /** A fresh module serves: reads again what is shown, and stores what was written meanwhile. */
  restart(): void {
    this.#resting = false
    for (const view of this.#views.values()) {
      this.#starting.set(view.name, deferred())
      if (view.collection) this.start(view)
    }
    this.flush()
  }

  /** The live transaction of an Entry, or `null`. */
  transaction(id: string): Transaction<any> | null {
    return (this.#byEntry.get(id) ?? this.#lives.get(id))?.transaction ?? null
  }

  /** Waits until an Entry of this tab is stored, if it is being. */
  async storedEntry(id: string): Promise<void> {
    await this.#byEntry.get(id)?.stored.promise.catch(() => undefined)
  }

  /** Resolves when the Backend has a transaction's writes, or the call that wrote nothing. */
  deliveredOf(transaction: Transaction<any>): Promise<void> {
    return this.#delivered.get(transaction) ?? deliveredOf(transaction)
  }

  /** Hands over what this task has written, and waits until all that was is stored, or not. */
  async allStored(): Promise<void> {
    this.flush()
    await Promise.allSettled([...this.#lives.values()].map(({ stored }) => stored.promise))
  }

  /** Resolves when a transaction's writes are on disk. */
  storedOf(transaction: Transaction<any>): Promise<void> {
    return this.#stored.get(transaction) ?? deliveredOf(transaction)
  }
}

/** The Collection of a Handler's name; an action has none. */
function collectionOf(name: string): string {
  return name.startsWith('collection:') ? name.slice('collection:'.length) : ''
}
