import type { Transaction } from '@tanstack/db'
import { Actions } from './actions.js'
import { Callers } from './callers.js'
import { Collections } from './collections.js'
import { connect } from './connect.js'
import type { Engine } from './engine.js'
import { Entity } from './entity.js'
import { OutboxError } from './errors.js'
import { deferred } from './host.js'
import { checkMade, checkOptions, checkTypes, type OptionType } from './options.js'
import { Runner } from './runtime.js'
import { Screen, type Tell } from './screen.js'
import { attempt, nextTask } from './task.js'
import type { OutboxEvent, OutboxStatus, StdCollectionConfig, StdOutbox, StdSync, StdSyncConfig, TanStackDb } from './types.js'

/** What a Std Sync is made with. */
export interface Made {
  engine: Engine
  db: TanStackDb
  /** The live Std Syncs of this page, by name. */
  live: Map<string, Live>
}

/** A Std Sync that is live in this page. */
export interface Live {
  /** It has lost its promises to a crash: a new one of its name takes over. */
  restarted: boolean
  std: StdSync
}

const types: Record<string, OptionType> = { name: 'string', platform: 'object', outbox: 'boolean', version: 'number', migrate: 'function', classify: 'function', onEvent: 'function', concurrency: 'number', runtime: 'object' }

/** Makes a Std Sync; see {@link StdSync}. */
export function makeStdSync(config: StdSyncConfig, { engine, db, live }: Made): StdSync {
  checkOptions('createStdSync()', config, Object.keys(types), ['name'])
  checkTypes('createStdSync()', config, types)
  checkMade('createStdSync()', 'platform', config.platform, { browser: 'browser()', memory: 'memory()' })
  if (config.version !== undefined && !Number.isSafeInteger(config.version)) throw new OutboxError('invalid', `createStdSync(): the option "version" must be a whole number, not ${config.version}`)
  const before = live.get(config.name)
  if (before && !before.restarted) {
    throw new OutboxError('invalid', `createStdSync(): "${config.name}" is live in this tab already; dispose it first, or share it`)
  }

  if (config.runtime && typeof config.runtime.runPromise !== 'function') throw new OutboxError('invalid', 'createStdSync(): the option "runtime" has no runPromise(effect, { signal })')

  const hand = (event: OutboxEvent) => attempt(() => config.onEvent?.(event))
  const tell: Tell = (event) => hand({ at: Date.now(), sync: config.name, ...event })
  const queued = config.outbox ?? false
  const runner = new Runner(config.runtime)
  const callers = new Callers(() => go, config.classify)
  const screen = new Screen(() => go, db, callers, tell, () => actions.showSkipped())
  const entity = new Entity(() => go, db, config.name, (tell) => screen.serving(tell), () => disposal !== undefined)
  const actions = new Actions(() => go, db, screen, callers, queued, runner, tell)
  const collections = new Collections(config.name, queued, () => go, db, screen, callers, runner)
  const listeners = new Set<(status: OutboxStatus) => void>()
  const status = () => go.call<OutboxStatus>('status')
  const open = () => connect(engine.exports, config, {
    screen, entity, actions, callers, event: hand,
    status: () => listeners.forEach((listener) => attempt(() => listener(status()))),
  })
  let { go, release } = open()
  before?.std.dispose().catch(() => undefined)

  if (config.platform?.persist) askToPersist((granted) => tell({ type: 'persist', granted }))
  /** Opens the Ready Gate once what is stored is on screen, or cannot be read. */
  const openGate = async () => {
    const read = await screen.hydrated()
    const replayed = await Promise.allSettled([actions.replay()])
    if (disposal) throw new OutboxError('disposed', 'this Std Sync was disposed')
    go.call('openGate')
    for (const outcome of [...read, ...replayed]) if (outcome.status === 'rejected') throw outcome.reason
  }
  const stopWatching = engine.watch({
    died(crash, again) {
      release()
      callers.abandon(crash)
      screen.abandon(crash, again)
      tell({ type: 'crashed', error: crash })
      me.restarted = true
    },
    restarted() {
      ;({ go, release } = open())
      screen.restart()
      collections.restart()
      actions.restart()
      entity.restart()
      if (listeners.size > 0) go.call('watchStatus')
      tell({ type: 'restarted' })
      if (!booting) openGate().then(ready.resolve, ready.reject)
    },
  })
  let booting = true
  const ready = deferred<void>()
  nextTask(() => {
    booting = false
    openGate().then(ready.resolve, ready.reject)
  })

  let disposal: Promise<void> | undefined
  const options = (collection: StdCollectionConfig<any, any>) => {
    alive('std.collection()')
    return collections.options(collection, booting)
  }
  const alive = (where: string) => {
    if (disposal) throw new OutboxError('disposed', `${where}: "${config.name}" was disposed in this tab`)
  }
  const outbox: StdOutbox = {
    get entity() {
      return entity.collection
    },
    transaction: (id) => screen.transaction(id),
    discard: (id) => screen.storedEntry(id).then(() => go.async('discard', id)),
    retry: (id) => go.async('retry', id),
    stored: (transaction) => screen.storedOf(transaction),
    delivered: (transaction) => screen.deliveredOf(transaction),
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
  const std: StdSync = {
    name: config.name,
    collectionOptions: (collection) => options(collection) as never,
    collection: (collection) => db.createCollection(options(collection) as never) as never,
    wrap(options, wrapped) {
      alive('std.wrap()')
      return collections.wrap(options, wrapped)
    },
    createOfflineAction(action) {
      alive('createOfflineAction()')
      return actions.create(action)
    },
    inOrder(write) {
      const transaction = db.createTransaction({ autoCommit: false, mutationFn: ({ transaction }) => collections.send(transaction as never, true) })
      let returned: unknown
      transaction.mutate(() => {
        returned = write()
      })
      if (returned instanceof Promise) {
        transaction.rollback()
        throw new OutboxError('invalid', 'std.inOrder(): the function must make its writes at once; one that is asynchronous would make them outside of the transaction')
      }
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
      await screen.allStored()
      return { dropped: await go.async<number>('reset', unsent === 'refuse') }
    },
    dispose() {
      if (!disposal) screen.flush()
      disposal ??= go
        .async('dispose')
        .catch((error: unknown) => {
          if (!(error instanceof OutboxError && error.code === 'crashed')) throw error
          // Nothing is left to stop; what was kept for a fresh module is stored by none.
          screen.abandon(new OutboxError('disposed', 'this Std Sync was disposed before the write could be stored'), false)
        })
        .finally(() => {
          if (live.get(config.name) === me) live.delete(config.name)
          stopWatching()
          release()
        })
      return disposal
    },
  }
  const me: Live = { restarted: false, std }
  live.set(config.name, me)
  return std
}


/** Asks the browser not to evict what is stored, and tells whether it agreed. */
function askToPersist(answered: (granted: boolean) => void): void {
  const asked: Promise<boolean> = globalThis.navigator?.storage?.persist?.() ?? Promise.resolve(false)
  asked.then(answered, () => answered(false))
}
