import type { Collection, CollectionConfig, PendingMutation, Transaction } from '@tanstack/db'
import { callbackOf, flyCollection } from './callbacks.js'
import type { Callers } from './callers.js'
import { RowCodec } from './codec.js'
import { directHandlers, sendDirect } from './direct.js'
import { OutboxError } from './errors.js'
import type { Guard } from './host.js'
import { checkMade, checkOptions, checkRequest, checkTypes, type OptionType } from './options.js'
import { paced, unpaced } from './pacing.js'
import type { Runner } from './runtime.js'
import type { Screen } from './screen.js'
import type { StdCollectionConfig, TanStackDb, WrapConfig } from './types.js'
import { View } from './view.js'
import { flyWrapped, SourcedView } from './wrap.js'

const types: Record<string, OptionType> = {
  name: 'string', getKey: 'function', single: 'boolean', schema: 'schema', codec: 'object', onInsert: 'function', onUpdate: 'function', onDelete: 'function',
  sync: 'object', version: 'function', outbox: 'boolean', classify: 'function', request: 'object', pacing: 'object', gcTime: 'number',
}

const wrapTypes: Record<string, OptionType> = { name: 'string', codec: 'object', classify: 'function', request: 'object' }

/** A Collection's config with all that may be left out. */
export type Config = StdCollectionConfig<any, any> & { getKey: (row: any) => string | number }

/** A Collection that has been made. */
interface Made {
  view: View
  config: Config
  queued: boolean
  /** How its writes are sent without an Outbox. */
  direct: ReturnType<typeof directHandlers>
}

/** The Collections of a Std Sync. */
export class Collections {
  readonly #made = new Map<string, Made>()
  /** The class of the Collections of this copy of TanStack DB. */
  #ours: unknown

  constructor(
    readonly sync: string,
    /** The Std Sync has an Outbox. */
    readonly queued: boolean,
    readonly go: () => Guard,
    readonly db: TanStackDb,
    readonly screen: Screen,
    readonly callers: Callers,
    readonly runner: Runner,
  ) {}

  /** The options of a Collection, which starts by itself at boot; see {@link StdSync.collectionOptions}. */
  options(given: StdCollectionConfig<any, any>, atBoot = false): CollectionConfig<any, any> {
    const config = this.runner.collection(checked(given)) as Config
    const codec = new RowCodec(config.name, config.codec)
    const view = new View(config.name, codec)
    const queued = this.queued && config.outbox !== false
    const direct = directHandlers(config, view, this.go)
    const made = { view, config, queued, direct }
    this.#free('std.collection()', config.name)
    this.#register(made)
    this.callers.add(`collection:${config.name}`, { fly: flyCollection(config, codec), classify: config.classify, timeout: config.request?.timeout, config, codec })
    this.screen.add(view)
    this.#made.set(config.name, made)
    return {
      id: `${this.sync}/${config.name}`,
      getKey: config.getKey,
      ...(atBoot && { startSync: true }),
      ...(config.schema && { schema: config.schema }),
      ...(config.gcTime !== undefined && { gcTime: config.gcTime }),
      ...(config.single && { singleResult: true }),
      sync: { rowUpdateMode: 'full', sync: (params: unknown) => this.#start(view, config, params) },
      ...(queued ? this.screen.handlers(config) : direct),
      utils: { pacedUpdate: this.#pacedUpdate(view, config, queued, direct.onUpdate) },
    } as unknown as CollectionConfig<any, any>
  }

  /** The options of a Collection with a source of its own; see {@link StdSync.wrap}. */
  wrap<Options extends CollectionConfig<any, any, any, any>>(options: Options, given: WrapConfig): Options {
    const { name, codec, classify, request } = checkedWrap(options, given)
    if (!this.queued) return options
    this.#free('std.wrap()', name)
    const config = { ...options, name } as unknown as Config
    const view = new SourcedView(name, new RowCodec(name, codec))
    this.callers.add(`collection:${name}`, { fly: flyWrapped(options, view), classify, timeout: request?.timeout, config, codec: view.codec })
    this.screen.add(view)
    const made = { view, config, queued: true, direct: {} }
    this.#made.set(name, made)
    return {
      // At once, as what was unsent is there at boot and has to be sent by a tab that
      // shows it nowhere.
      startSync: true,
      ...options,
      ...this.screen.handlers(config),
      sync: {
        ...options.sync,
        sync: (params: Parameters<typeof options.sync.sync>[0]) => {
          this.#check(name, params as never)
          const first = !view.flyer
          view.attach(params as never)
          // Nobody can fly its Requests before it is there.
          if (first) this.#register(made)
          this.screen.start(view)
          const stop = options.sync.sync(view.source(params as never, options, () => this.screen.shown()) as never)
          return cleanedUp(stop, () => view.detach(params as never))
        },
      },
    }
  }

  /** Throws if a Collection of that name was made before. */
  #free(where: string, name: string): void {
    if (this.#made.has(name)) throw new OutboxError('invalid', `${where}: there is a collection "${name}" already: give every Collection of a Std Sync its own name`)
  }

  /** Lets a fresh module know of all of them. */
  restart(): void {
    for (const made of this.#made.values()) {
      if (!(made.view instanceof SourcedView) || made.view.flyer) this.#register(made)
      if (made.view.collection) this.#pull(made.config)
    }
  }

  #register(made: Made): void {
    const { config: { name, sync, version }, view } = made
    const sourced = view instanceof SourcedView
    this.screen.serving(() => this.go().call('register', `collection:${name}`, { fetched: !sourced && sync !== undefined, versioned: version !== undefined, sourced }))
  }

  #pull({ name, sync }: Config): void {
    if (sync?.kind === 'pull') this.screen.serving(() => this.go().call('pull', name, sync.config.every))
  }

  /** Sends an app's own transaction, in order or as it comes. */
  send(transaction: Transaction<any>, inOrder = false): Promise<void> {
    const mutations = transaction.mutations as PendingMutation[]
    const made = mutations.map((mutation) => this.#of(mutation))
    if (made.every(({ queued }) => queued)) return this.screen.record(transaction, inOrder)
    const through = made.find(({ queued }) => queued)
    if (through) throw new OutboxError('invalid', `"${through.config.name}" has an Outbox and another collection of this transaction has none: write to them in transactions of their own`)
    return sendDirect(transaction, made.map(({ direct }) => direct))
  }

  #of(mutation: PendingMutation): Made {
    for (const made of this.#made.values()) {
      if (made.view.collection !== (mutation.collection as unknown)) continue
      const callback = callbackOf[mutation.type]
      if (!made.config[callback]) throw new OutboxError('invalid', `"${made.config.name}" has no ${callback}: there is nobody to send this ${mutation.type}`)
      return made
    }
    throw new OutboxError('invalid', `the collection "${mutation.collection.id}" does not belong to this Std Sync: write to it in a transaction of its own`)
  }

  /** Throws if a Collection was made by another copy of TanStack DB: its transactions would be none of ours. */
  #check(name: string, { collection }: { collection?: object }): void {
    this.#ours ??= this.db.createCollection({ id: `${this.sync}/none`, getKey: () => '', sync: { sync: () => undefined } }).constructor
    if (collection?.constructor !== this.#ours) {
      throw new OutboxError('invalid', `"${name}" was made by another copy of @tanstack/db than loadOutbox() was given; there must be one copy on a page, so check what bundles the second`)
    }
  }

  #start(view: View, config: Config, params: unknown): () => void {
    this.#check(config.name, params as never)
    view.attach(params as never)
    this.screen.start(view)
    this.#pull(config)
    return () => view.detach(params as never)
  }

  #pacedUpdate(view: View, config: Config, queued: boolean, onUpdate: Parameters<typeof paced>[3] | undefined) {
    const collection = (): Collection<any, any> => {
      if (!view.collection) throw new OutboxError('invalid', `pacedUpdate: "${config.name}" shows no rows yet; subscribe to it or preload it first`)
      return view.collection
    }
    if (config.pacing && queued) {
      console.warn(`std.collection(): "${config.name}" has an Outbox, which sends edits of a row together: the option "pacing" does nothing`)
    }
    return config.pacing && !queued && onUpdate ? paced(this.db, config.pacing, collection, onUpdate) : unpaced(collection)
  }
}

/** Throws unless a Collection's options make sense, and fills in what may be left out. */
function checked(config: StdCollectionConfig<any, any>): Config {
  const where = 'std.collection()'
  checkOptions(where, config, Object.keys(types), config?.single ? ['name'] : ['name', 'getKey'])
  checkTypes(where, config, types)
  checkRequest(where, config.request)
  checkMade(where, 'sync', config.sync, { pull: 'syncStrategy.pull()' })
  checkMade(where, 'pacing', config.pacing, { debounce: 'paceStrategy.debounce()', throttle: '.throttle()', queue: '.queue()' })
  const { single, name, codec } = config
  if (single && (config.onInsert ?? config.onDelete)) {
    throw new OutboxError('invalid', `${where}: "${name}" is single, its one row is only ever updated: leave out ${config.onInsert ? 'onInsert' : 'onDelete'}`)
  }
  if (codec) {
    checkOptions(`${where}, codec`, codec, ['encode', 'decode'], ['encode', 'decode'])
    checkTypes(`${where}, codec`, codec, { encode: 'function', decode: 'function' })
  }
  return { ...config, getKey: config.getKey ?? (() => name) }
}

function checkedWrap(options: CollectionConfig<any, any, any, any>, config: WrapConfig): WrapConfig {
  const where = 'std.wrap()'
  if (typeof options?.sync?.sync !== 'function' || typeof options.getKey !== 'function') {
    throw new OutboxError('invalid', `${where}: the first argument must be options for createCollection, with getKey and sync`)
  }
  checkOptions(where, config, Object.keys(wrapTypes), ['name'])
  checkTypes(where, config, wrapTypes)
  checkRequest(where, config.request)
  return config
}

/** What a sync function returned, with something more to be done when it is cleaned up. */
function cleanedUp<Returned>(returned: Returned, also: () => void): Returned | (() => unknown) {
  const stop = (cleanup: unknown) => () => {
    also()
    return typeof cleanup === 'function' ? (cleanup as () => unknown)() : undefined
  }
  if (typeof returned !== 'object' || returned === null || returned instanceof Promise) return stop(returned)
  return { ...returned, cleanup: stop((returned as { cleanup?: unknown }).cleanup) }
}
