import type { Collection, Transaction } from '@tanstack/db'
import { Actions } from './actions.js'
import { Callers } from './callers.js'
import { Collections } from './collections.js'
import { Entity, withKey } from './entity.js'
import { errorOf, isFailure, OutboxError } from './errors.js'
import { deferred, type Guard } from './host.js'
import { deliveredOf } from './live.js'
import { checkOptions, checkTypes, type OptionType } from './options.js'
import { isVisible, onSeen } from './page.js'
import { Runner } from './runtime.js'
import { Screen, type News, type Tell } from './screen.js'
import { attempt, nextTask } from './task.js'
import type { EntryRow, OutboxEvent, OutboxStatus, StdCollectionConfig, StdOutbox, StdSync, StdSyncConfig, TanStackDb } from './types.js'

/** What a Std Sync is made with. */
export interface Made {
  go: Guard
  db: TanStackDb
  /** The live Std Syncs of this page. */
  names: Set<string>
}

const types: Record<string, OptionType> = { name: 'string', platform: 'object', outbox: 'boolean', version: 'number', migrate: 'function', classify: 'function', onEvent: 'function', concurrency: 'number', runtime: 'object' }

/** Makes a Std Sync; see {@link StdSync}. */
export function makeStdSync(config: StdSyncConfig, { go: module, db, names }: Made): StdSync {
  checkOptions('createStdSync()', config, Object.keys(types), ['name'])
  checkTypes('createStdSync()', config, types)
  if (config.name === '') throw new OutboxError('invalid', 'createStdSync(): the option "name" is empty')
  if (names.has(config.name)) {
    throw new OutboxError('invalid', `createStdSync(): "${config.name}" is live in this tab already; dispose it first, or share it`)
  }

  if (config.runtime && typeof config.runtime.runPromise !== 'function') throw new OutboxError('invalid', 'createStdSync(): the option "runtime" has no runPromise(effect, { signal })')

  const hand = (event: OutboxEvent) => attempt(() => config.onEvent?.(event))
  const tell: Tell = (event) => hand({ at: Date.now(), sync: config.name, ...event })
  const queued = config.outbox ?? false
  const connectivity = config.platform?.connectivity
  const runner = new Runner(config.runtime)
  const callers = new Callers(() => go, config.classify)
  const screen = new Screen(() => go, db, callers, tell)
  const entity = new Entity(() => go, db, config.name)
  const actions = new Actions(() => go, db, screen, callers, queued, runner, tell)
  const collections = new Collections(config.name, queued, () => go, db, screen, callers, runner)
  const listeners = new Set<(status: OutboxStatus) => void>()
  const status = () => go.call<OutboxStatus>('status')

  const go: Guard = module.open(
    'createStdSync',
    {
      name: config.name,
      persistent: config.platform?.kind === 'browser',
      database: config.platform?.databaseName,
      version: config.version ?? 0,
      concurrency: config.concurrency ?? 0,
      connectivity: connectivity && steady({ is: () => connectivity.isOnline(), subscribe: (listener) => connectivity.subscribe(listener) }),
      visibility: steady({ is: isVisible, subscribe: onSeen }),
      listening: config.onEvent !== undefined,
      migrating: config.migrate !== undefined,
    },
    guarded({
      event: (event: OutboxEvent) => hand(isFailure(event.error) ? { ...event, error: errorOf(event.error) } : event),
      news: (news: News) => {
        attempt(() => screen.show(news))
        entity.show(news)
      },
      stored: (batch: number, refused: Parameters<Screen['stored']>[1]) => screen.stored(batch, refused),
      replayed: (name: string, rows: Parameters<Screen['hydrate']>[1], entries: Parameters<Screen['restore']>[0]) => screen.hydrate(name, rows, entries),
      replayedAction: (name: string, entries: Parameters<Screen['restore']>[0]) => actions.restore(name, entries),
      migrate: (entry: EntryRow, from: number) => config.migrate?.(withKey(entry), from) ?? null,
      restore: (entries: Parameters<Screen['restore']>[0]) => {
        screen.restore(entries)
        actions.restoreAll(entries)
      },
      fly: (...args: Parameters<Callers['fly']>) => callers.fly(...args),
      fetch: (...args: Parameters<Callers['fetch']>) => callers.fetch(...args),
      newer: (...args: Parameters<Callers['newer']>) => callers.newer(...args),
      abort: (id: number) => callers.abort(id),
      status: () => {
        for (const listener of [...listeners]) guarded({ listener }).listener(status())
      },
    }),
  )
  names.add(config.name)
  if (config.platform?.persist) askToPersist((granted) => tell({ type: 'persist', granted }))
  const stopMourning = go.instance.onDeath((crash) => {
    names.delete(config.name)
    callers.abandon(crash)
    screen.abandon(crash)
    tell({ type: 'crashed', error: crash })
  })

  /** Opens the Ready Gate once what is stored is on screen, or cannot be read. */
  const openGate = async () => {
    for (const collection of boot) collection.preload().catch(() => undefined)
    const read = await Promise.allSettled(boot.map((collection) => screen.hydrated(collection)))
    const replayed = await Promise.allSettled([actions.replay()])
    if (disposal) throw new OutboxError('disposed', 'this Std Sync was disposed')
    go.call('openGate')
    for (const outcome of [...read, ...replayed]) if (outcome.status === 'rejected') throw outcome.reason
  }
  const boot: Collection<any, any>[] = []
  let booting = true
  const ready = deferred<void>()
  nextTask(() => {
    booting = false
    openGate().then(ready.resolve, ready.reject)
  })

  let disposal: Promise<void> | undefined
  const options = (collection: StdCollectionConfig<any, any>) => {
    if (disposal) throw new OutboxError('disposed', `std.collection(): "${config.name}" was disposed in this tab`)
    return collections.options(collection)
  }
  const outbox: StdOutbox = {
    get entity() {
      return entity.collection
    },
    transaction: (id) => screen.transaction(id),
    discard: (id) => screen.storedEntry(id).then(() => go.async('discard', id)),
    retry: (id) => go.async('retry', id),
    stored: (transaction) => screen.storedOf(transaction),
    delivered: (transaction) => deliveredOf(transaction),
    status,
    subscribe(listener) {
      const own = (status: OutboxStatus) => listener(status)
      if (listeners.size === 0) go.call('watchStatus')
      listeners.add(own)
      return () => listeners.delete(own)
    },
    drain: () => go.call('drain'),
    pause: () => go.async('pause'),
    resume: () => go.async('resume'),
  }
  return {
    name: config.name,
    collectionOptions: (collection) => options(collection) as never,
    collection(collectionConfig) {
      const collection = db.createCollection(options(collectionConfig) as never) as unknown as Collection<any, any>
      if (booting) boot.push(collection)
      return collection as never
    },
    createOfflineAction: (action) => actions.create(action),
    inOrder(write) {
      const transaction = db.createTransaction({ autoCommit: false, mutationFn: ({ transaction }) => collections.send(transaction as never, true) })
      transaction.mutate(write)
      transaction.commit().catch(() => undefined)
      return transaction as Transaction<any>
    },
    mutationFn: async ({ transaction }) => collections.send(transaction),
    outbox,
    ready: ready.promise,
    async reset(options = {}) {
      checkOptions('std.reset()', options, ['unsent'])
      const { unsent = 'drop' } = options
      if (unsent !== 'drop' && unsent !== 'refuse') throw new OutboxError('invalid', `std.reset(): the option "unsent" must be 'drop' or 'refuse', not ${String(unsent)}`)
      return { dropped: await go.async<number>('reset', unsent === 'refuse') }
    },
    dispose() {
      if (!disposal) screen.flush()
      disposal ??= go.async('dispose').finally(() => {
        names.delete(config.name)
        stopMourning()
      })
      return disposal
    },
  }
}

/** Asks the browser not to evict what is stored, and tells whether it agreed. */
function askToPersist(answered: (granted: boolean) => void): void {
  const asked: Promise<boolean> = globalThis.navigator?.storage?.persist?.() ?? Promise.resolve(false)
  asked.then(answered, () => answered(false))
}

/** A signal whose functions throw nothing into Go: when in doubt, yes. */
function steady(signal: { is(): boolean; subscribe(listener: () => void): () => void }) {
  const { is, subscribe } = guarded({ is: () => signal.is(), subscribe: (listener: () => void) => signal.subscribe(listener) })
  return { is: () => is() ?? true, subscribe: (listener: () => void) => guarded({ stop: subscribe(listener) ?? (() => undefined) }).stop }
}

/** The same functions, none of which throws into Go. */
function guarded<T extends Record<string, (...args: never[]) => unknown>>(functions: T): T {
  return Object.fromEntries(
    Object.entries(functions).map(([name, fn]) => [
      name,
      (...args: never[]) => {
        let value: unknown
        attempt(() => (value = fn(...args)))
        return value
      },
    ]),
  ) as T
}
