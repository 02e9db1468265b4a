import type { CollectionConfig, PendingMutation, SyncConfig, Transaction } from '@tanstack/db'
import { dequal } from 'dequal/lite'
import type { Flown, Fly } from './callbacks.js'
import { OutboxUnreachable } from './errors.js'
import type { Live } from './live.js'
import { keyOf, keyText, type Row } from './rows.js'
import { View, type Confirmed } from './view.js'

type SyncParams = Parameters<SyncConfig<any, any>['sync']>[0]
type Message = Parameters<SyncParams['write']>[0]

/** One Collection whose confirmed rows come from a source of its own, and stay there. */
export class SourcedView extends View {
  /** Counts the source's writes, and the last one of each row with something unsent. */
  #clock = 0
  readonly #writtenAt = new Map<string, number>()
  /** Entries whose row the source has written while they flew. */
  readonly #confirmed = new Set<string>()

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
  source(params: SyncParams, options: CollectionConfig<any, any>): SyncParams {
    const full = options.sync.rowUpdateMode === 'full'
    const open: Map<string, Row | undefined>[] = []
    return {
      ...params,
      begin: (...args: Parameters<SyncParams['begin']>) => {
        open.push(new Map())
        return params.begin(...args)
      },
      write: (message: Message) => {
        params.write(message)
        const rows = open.at(-1)
        const key = keyText(('key' in message ? message.key : options.getKey(message.value)) as string | number)
        const below = rows?.has(key) ? rows.get(key) : this.confirmed(key)
        rows?.set(key, message.type === 'delete' ? undefined : full || message.type === 'insert' ? { ...(message.value as Row) } : { ...below, ...(message.value as Row) })
      },
      truncate: (...args: Parameters<SyncParams['truncate']>) => {
        for (const key of this.unsent()) open.at(-1)?.set(key, undefined)
        return params.truncate(...args)
      },
      commit: (...args: Parameters<SyncParams['commit']>) => {
        const rows = open.pop()
        this.#clock++
        for (const [key, row] of rows ?? []) {
          if (!this.isUnsent(key)) continue
          this.#writtenAt.set(key, this.#clock)
          this.rebaseOn(key, row)
        }
        return this.unheld(() => params.commit(...args))
      },
    } as SyncParams
  }

  /** Notes whether the source writes a row while its Request flies. */
  async flying<T>(key: string, entryIds: readonly string[], fly: () => Promise<T>): Promise<T> {
    const since = this.#clock
    const result = await fly()
    if ((this.#writtenAt.get(key) ?? 0) > since) for (const id of entryIds) this.#confirmed.add(id)
    return result
  }

  /**
   * A write is delivered. Its row goes on being shown as written until the source
   * tells of it, unless it has: it then is as the source says. Without that, what the
   * source has changed of a field since the edit stays.
   */
  override delivered(live: Live, at: number): void {
    const { type, key, original, modified, changes } = live.transaction.mutations[at] as PendingMutation
    const text = keyText(key as string | number)
    const entry = live.entryIds[at] ?? ''
    this.#writtenAt.delete(text)
    if (this.#confirmed.delete(entry)) return
    const row = this.confirmed(text)
    let bridge: Confirmed | undefined
    if (type === 'insert' && row === undefined) bridge = [text, modified as Row]
    if (type === 'delete' && row !== undefined) bridge = [text, undefined]
    if (type === 'update' && row !== undefined) bridge = [text, bridged(row, original as Row, changes as Row)]
    if (bridge) super.write([bridge])
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
    const { op, key, entryIds } = flown
    const name = ({ insert: 'onInsert', update: 'onUpdate', delete: 'onDelete' } as Record<string, 'onInsert' | 'onUpdate' | 'onDelete'>)[op] as 'onInsert'
    const { collection } = view
    const handler = options[name]
    if (!handler || !collection) throw new OutboxUnreachable(handler ? `"${view.name}" is not started in this tab` : `"${view.name}" has no ${name} to send a stored write with`)
    const transaction = { id: request.idempotencyKey, metadata: {}, createdAt: new Date(request.enqueuedAt), mutations: [mutationOf(flown, collection)] }
    await view.flying(key, entryIds, async () => handler.call(options, { transaction, collection, request } as never))
    return []
  }
}

/** A Request as the one mutation that a TanStack handler is called with. */
function mutationOf({ op, key, base, changes, entryIds, enqueuedAt }: Flown, collection: Transaction<any>['mutations'][number]['collection']): Partial<PendingMutation> {
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
