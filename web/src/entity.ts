import type { Collection, SyncConfig } from '@tanstack/db'
import type { Guard } from './host.js'
import { keyOf } from './rows.js'
import type { News } from './screen.js'
import type { EntryRow, TanStackDb } from './types.js'

type SyncParams = Parameters<SyncConfig<EntryRow, string>['sync']>[0]

/** `std.outbox.entity`: the stored Entries as a live, read-only Collection. */
export class Entity {
  #collection: Collection<EntryRow, string> | undefined
  #params: SyncParams | undefined
  #stop: () => void = () => undefined

  constructor(
    readonly go: () => Guard,
    readonly db: TanStackDb,
    readonly sync: string,
    readonly serving: (tell: () => void) => void,
    readonly ended: () => boolean,
  ) {}

  /** The Collection, which reads the store once somebody subscribes to it. */
  get collection(): Collection<EntryRow, string> {
    this.#collection ??= this.db.createCollection<EntryRow, string>({
      id: `${this.sync}/outbox`,
      getKey: (entry) => entry.id,
      compare: (a, b) => a.seq - b.seq,
      sync: {
        rowUpdateMode: 'full',
        sync: (params) => {
          this.#params = params
          // What is disposed tells nothing any more; nobody has to wait for it.
          if (this.ended()) return params.markReady()
          this.serving(() => (this.#stop = this.go().call<() => void>('view')))
          return () => {
            if (this.#params !== params) return
            this.#params = undefined
            this.#stop()
          }
        },
      },
    }) as unknown as Collection<EntryRow, string>
    return this.#collection
  }

  /** A fresh module serves: has it tell of what is stored. */
  restart(): void {
    if (this.#params) this.#stop = this.go().call<() => void>('view')
  }

  /** Takes over what Go found. */
  show({ entries, gone, all, reset }: News): void {
    const params = this.#params
    if (!params || (entries.length === 0 && gone.length === 0 && !all && !reset)) return
    const left = new Set(gone)
    if (all || reset) for (const key of params.collection.keys()) left.add(key)
    params.begin()
    for (const entry of entries) {
      left.delete(entry.id)
      params.write({ type: 'update', value: withKey(entry) })
    }
    for (const id of left) {
      if (params.collection.has(id)) params.write({ type: 'delete', key: id })
    }
    params.commit()
    if (all) params.markReady()
  }
}

/** An Entry as Go hands it over, with its key as it was. */
export function withKey(entry: EntryRow): EntryRow {
  return entry.key === undefined ? entry : { ...entry, key: keyOf(entry.key as string) }
}
