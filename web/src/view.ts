import type { Collection, PendingMutation, SyncConfig, Transaction } from '@tanstack/db'
import type { RowCodec } from './codec.js'
import type { Live } from './live.js'
import { keyOf, keyText, type Row } from './rows.js'
import { attempt } from './task.js'

type SyncParams = Parameters<SyncConfig<any, any>['sync']>[0]

/** The internals of a TanStack Collection that the Outbox stands on. */
interface State {
  trackTransaction(transaction: Transaction<any>): boolean
  recomputeOptimisticState(byUser: boolean): void
  onTransactionStateChange(): void
  syncedData: { get(key: unknown): Row | undefined; keys(): IterableIterator<string | number> }
}

/** A confirmed row by its key's text; `undefined` for one that is gone. */
export type Confirmed = [key: string, row: Row | undefined]

/** A write of a row: the mutation at a place of a transaction. */
interface Unsent {
  live: Live
  at: number
}

/** One Collection's rows on screen, and the unsent transactions laid over them. */
export class View {
  #params: SyncParams | undefined
  #hydrated = false
  /** The places of each unsent transaction's writes to this Collection. */
  readonly #lives = new Map<Live, Set<number>>()
  /** The unsent writes of a row, in TanStack's order of their transactions. */
  readonly #byKey = new Map<string, Unsent[]>()

  constructor(
    readonly name: string,
    readonly codec: RowCodec,
  ) {}

  /** TanStack has started the Collection's sync. */
  attach(params: SyncParams): void {
    this.#params = params
    this.#hydrated = false
  }

  /** TanStack has stopped it. */
  detach(params: SyncParams): void {
    if (this.#params === params) this.#params = undefined
  }

  get collection(): Collection<any, any> | undefined {
    return this.#params?.collection as Collection<any, any> | undefined
  }

  get hydrated(): boolean {
    return this.#hydrated && this.#params !== undefined
  }

  /** Says that the confirmed rows and what is unsent are on screen. */
  ready(): void {
    this.hydrate()
    this.#params?.markReady()
  }

  /** Notes that what is stored has been read. */
  protected hydrate(): void {
    this.#hydrated = true
  }

  /** A write of a transaction is delivered, and about to leave the unsent. */
  delivered(_live: Live, _at: number): void {}

  /** The places of a transaction's writes to this Collection. */
  places(live: Live): number[] {
    return [...(this.#lives.get(live) ?? [])]
  }

  /** The keys of rows with something unsent. */
  protected unsent(): Iterable<string> {
    return this.#byKey.keys()
  }

  protected isUnsent(key: string): boolean {
    return this.#byKey.has(key)
  }

  get #state(): State {
    return (this.collection as unknown as { _state: State })._state
  }

  /** Counts a mutation of a transaction among the unsent. */
  add(live: Live, at: number): void {
    const places = this.#lives.get(live)
    if (places) places.add(at)
    else this.#lives.set(live, new Set([at]))
    live.views.add(this)
    const key = keyAt(live, at)
    const unsent = this.#byKey.get(key) ?? []
    this.#byKey.set(key, unsent)
    const before = unsent.findLastIndex((other) => other.live.transaction.compareCreatedAt(live.transaction) <= 0)
    unsent.splice(before + 1, 0, { live, at })
  }

  /** Takes one mutation of a transaction that stays off the screen. */
  drop(live: Live, at: number): void {
    const mutations = live.transaction.mutations as PendingMutation[]
    if (!this.#lives.get(live)?.has(at)) return
    mutations[at] = { ...(mutations[at] as PendingMutation), optimistic: false }
    this.#take(live, at)
  }

  #take(live: Live, at: number): void {
    const places = this.#lives.get(live)
    if (!places?.delete(at)) return
    if (places.size === 0) this.#lives.delete(live)
    const key = keyAt(live, at)
    const left = this.#byKey.get(key)?.filter((unsent) => unsent.live !== live || unsent.at !== at) ?? []
    if (left.length === 0) this.#byKey.delete(key)
    else this.#byKey.set(key, left)
    this.rebaseOn(key, this.confirmed(key))
  }

  /** Takes a transaction from the unsent, and rebuilds what lies above it. */
  remove(live: Live): void {
    for (const at of this.places(live)) this.#take(live, at)
  }

  /** Rebuilds what is unsent of some rows. */
  rebase(keys: Iterable<string>): void {
    for (const key of keys) this.rebaseOn(key, this.confirmed(key))
  }

  /** Lays a replayed transaction over the rows; {@link recompute} shows it. */
  track(live: Live): void {
    this.#state.trackTransaction(live.transaction)
  }

  /** Shows what has been laid over the rows. */
  recompute(): void {
    if (this.#params) this.#state.recomputeOptimisticState(true)
  }

  /** The row under all that is unsent. */
  confirmed(key: string): Row | undefined {
    return this.#params && this.#state.syncedData.get(keyOf(key))
  }

  /** The keys of all confirmed rows. */
  keys(): string[] {
    return this.#params ? [...this.#state.syncedData.keys()].map(keyText) : []
  }

  /**
   * Writes confirmed rows in one sync transaction, with everything unsent rebuilt
   * over them. TanStack holds sync back while a transaction persists; for the
   * commit, the Outbox's own are made to look as if they did not.
   */
  write(rows: readonly Confirmed[]): void {
    const params = this.#params
    if (!params || rows.length === 0) return
    params.begin()
    for (const [text, row] of rows) {
      attempt(() => {
        if (row === undefined) params.write({ type: 'delete', key: keyOf(text) as never })
        else params.write({ type: 'update', value: { ...row } as never })
      })
      this.rebaseOn(text, row)
    }
    this.unheld(() => params.commit())
  }

  /** Commits what TanStack would hold back while our transactions persist. */
  protected unheld<T>(commit: () => T): T {
    const held = [...this.#lives.keys()].filter(({ transaction }) => transaction.state === 'persisting')
    for (const { transaction } of held) transaction.setState('pending')
    try {
      return commit()
    } finally {
      for (const { transaction } of held) {
        if (transaction.state === 'pending') transaction.setState('persisting')
      }
    }
  }

  /** Drops the overlays of settled transactions that no written row did. */
  settle(): void {
    if (this.#params) this.#state.onTransactionStateChange()
  }

  /** Rebuilds the unsent writes of a row over its confirmed state. */
  protected rebaseOn(key: string, confirmed: Row | undefined): void {
    let row = confirmed
    for (const { live, at } of this.#byKey.get(key) ?? []) {
      const mutations = live.transaction.mutations as PendingMutation[]
      const mutation = mutations[at] as PendingMutation
      row = written(mutation, row)
      if (row !== undefined) mutations[at] = { ...mutation, modified: row } as PendingMutation
    }
  }
}

function keyAt(live: Live, at: number): string {
  return keyText((live.transaction.mutations[at] as PendingMutation).key)
}

/** The row that a mutation leaves, over the row below it; `undefined` after a delete. */
export function written(mutation: Pick<PendingMutation, 'type' | 'original' | 'modified' | 'changes'>, below: Row | undefined): Row | undefined {
  switch (mutation.type) {
    case 'insert':
      return { ...below, ...(mutation.modified as Row) }
    case 'update':
      return { ...(below ?? (mutation.original as Row)), ...(mutation.changes as Row) }
    default:
      return undefined
  }
}
