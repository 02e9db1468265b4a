import type { Collection, CollectionConfig, PendingMutation, SyncConfig } from '@tanstack/db'
import { dequal } from 'dequal/lite'
import { callbackOf, decoded, type Flown, type Fly } from './callbacks.js'
import { Waiting } from './errors.js'
import type { Live } from './live.js'
import { keyOf, keyText, type Row } from './rows.js'
import { View } from './view.js'

type SyncParams = Parameters<SyncConfig<any, any>['sync']>[0]
type Message = Parameters<SyncParams['write']>[0]

/** How long a delivered write is shown that the source does not tell of, in ms. */
const bridgeFor = 30_000

/** One Collection whose confirmed rows come from a source of its own, and stay there. */
export class SourcedView extends View {
  /** The Collection that flies its Requests, shown or not. */
  flyer: Collection<any, any> | undefined
  /** Rows shown as they were written, with what the source last told of them. */
  readonly #bridges = new Map<string, { was: Row | undefined }>()
  /** Counts the source's commits. */
  #commits = 0
  /** Inserts during whose flight the source has told something: if it was not of them, it never will be. */
  readonly #told = new Set<string>()

  override attach(params: SyncParams): void {
    super.attach(params)
    this.#bridges.clear()
    this.flyer = this.collection
  }

  /** The Outbox has no rows of its own to show. */
  override keys(): string[] {
    return []
  }

  override write(): void {}

  /** The source says when its rows are there. */
  override ready(): void {
    this.hydrate()
  }

  /** How the source writes: not held back by what is unsent, which is rebuilt over it. */
  source(params: SyncParams, options: CollectionConfig<any, any>, shown: () => void): SyncParams {
    const full = options.sync.rowUpdateMode === 'full'
    const open: Map<string, Row | undefined>[] = []
    return {
      ...params,
      markReady: () => {
        params.markReady()
        shown()
      },
      begin: (...args: Parameters<SyncParams['begin']>) => {
        open.push(new Map())
        return params.begin(...args)
      },
      write: (message: Message) => {
        const key = keyText(('key' in message ? message.key : options.getKey(message.value)) as string | number)
        const rows = open.at(-1)
        const bridge = this.#bridges.get(key)
        const below = rows?.has(key) ? rows.get(key) : bridge ? bridge.was : this.confirmed(key)
        const row = message.type === 'delete' ? undefined : full || message.type === 'insert' ? { ...(message.value as Row) } : { ...below, ...(message.value as Row) }
        // Where a row is shown that the source did not tell of, it goes on from what it did.
        if (bridge && row) params.write({ ...message, type: 'update', value: row } as Message)
        else params.write(message)
        this.#bridges.delete(key)
        rows?.set(key, row)
      },
      truncate: (...args: Parameters<SyncParams['truncate']>) => {
        this.#bridges.clear()
        for (const key of this.unsent()) open.at(-1)?.set(key, undefined)
        return params.truncate(...args)
      },
      commit: (...args: Parameters<SyncParams['commit']>) => {
        this.#commits++
        for (const [key, row] of open.pop() ?? []) if (this.isUnsent(key)) this.rebaseOn(key, row)
        return this.unheld(() => params.commit(...args))
      },
    } as SyncParams
  }

  /** Notes whether the source tells something while a Request flies. */
  async flying<T>(entryIds: readonly string[], fly: () => Promise<T>): Promise<T> {
    const since = this.#commits
    const result = await fly()
    if (this.#commits > since) for (const id of entryIds) this.#told.add(id)
    return result
  }

  /**
   * A write is delivered. Its row goes on being shown as written until the source
   * tells of it, for a while: a source that never does has the last word. What the
   * source has changed since the edit stays.
   */
  override delivered(live: Live, at: number): void {
    const { type, key, original, modified, changes } = live.transaction.mutations[at] as PendingMutation
    const text = keyText(key as string | number)
    const told = this.#told.delete(live.entryIds[at] ?? '')
    const row = this.confirmed(text)
    if (type === 'insert' && row === undefined && !told) this.#bridge(text, modified as Row)
    if (type === 'delete' && row !== undefined) this.#bridge(text, undefined)
    if (type === 'update' && row !== undefined) this.#bridge(text, bridged(row, original as Row, changes as Row))
  }

  #bridge(key: string, row: Row | undefined): void {
    const bridge = { was: this.#bridges.has(key) ? this.#bridges.get(key)?.was : this.confirmed(key) }
    this.#bridges.set(key, bridge)
    super.write([[key, row]])
    setTimeout(() => {
      if (this.#bridges.get(key) !== bridge) return
      this.#bridges.delete(key)
      super.write([[key, bridge.was]])
    }, bridgeFor)
  }
}

/** A row with those changes in fields that are still as they were when they were made. */
function bridged(row: Row, original: Row, changes: Row): Row {
  const result = { ...row }
  for (const [name, value] of Object.entries(changes)) if (dequal(row[name], original[name])) result[name] = value
  return result
}

/** Returns how the Requests of a wrapped Collection are run: by its own handlers. */
export function flyWrapped(options: CollectionConfig<any, any>, view: SourcedView): Fly {
  return async (flown, request) => {
    const { op, entryIds } = flown
    const name = callbackOf[op as keyof typeof callbackOf]
    const { flyer: collection } = view
    const handler = options[name]
    if (!handler || !collection) throw new Waiting(handler ? `"${view.name}" is not started in this tab` : `"${view.name}" has no ${name} to send a stored write with`)
    const transaction = { id: request.idempotencyKey, metadata: {}, createdAt: new Date(request.enqueuedAt), mutations: [mutationOf({ ...flown, ...decoded(view.codec, flown) } as Flown, collection)] }
    await view.flying(entryIds, async () => handler.call(options, { transaction, collection, request } as never))
    return []
  }
}

/** A Request as the one mutation that a TanStack handler is called with. */
function mutationOf({ op, key, base, changes, entryIds, enqueuedAt }: Flown, collection: Collection<any, any>): Partial<PendingMutation> {
  const at = new Date(enqueuedAt)
  return {
    mutationId: entryIds[0] as string,
    type: op as 'insert',
    key: keyOf(key),
    original: op === 'insert' ? {} : (base ?? {}),
    modified: op === 'delete' ? (base ?? {}) : { ...base, ...changes },
    changes: op === 'delete' ? (base ?? {}) : (changes ?? {}),
    metadata: undefined,
    syncMetadata: {},
    optimistic: true,
    createdAt: at,
    updatedAt: at,
    collection,
  } as never
}
