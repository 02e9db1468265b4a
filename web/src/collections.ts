import type { Collection, CollectionConfig, PendingMutation, Transaction } from '@tanstack/db'
import { flyCollection } from './callbacks.js'
import type { Callers } from './callers.js'
import { RowCodec } from './codec.js'
import { directHandlers, sendDirect } from './direct.js'
import { OutboxError } from './errors.js'
import type { Guard } from './host.js'
import { checkOptions, checkRequest, checkTypes, type OptionType } from './options.js'
import { paced, unpaced } from './pacing.js'
import type { Runner } from './runtime.js'
import type { Screen } from './screen.js'
import type { StdCollectionConfig, TanStackDb } from './types.js'
import { View } from './view.js'

const types: Record<string, OptionType> = {
  name: 'string', getKey: 'function', single: 'boolean', schema: 'schema', codec: 'object', onInsert: 'function', onUpdate: 'function', onDelete: 'function',
  sync: 'object', version: 'function', outbox: 'boolean', classify: 'function', request: 'object', pacing: 'object', gcTime: 'number',
}

/** A Collection's config with all that may be left out. */
export type Config = StdCollectionConfig<any, any> & { getKey: (row: any) => string | number }

/** The Collections of a Std Sync. */
export class Collections {
  readonly #made = new Map<string, { view: View; config: Config; queued: boolean }>()

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

  /** The options of a Collection; see {@link StdSync.collectionOptions}. */
  options(given: StdCollectionConfig<any, any>): CollectionConfig<any, any> {
    const config = this.runner.collection(checked(given)) as Config
    const codec = new RowCodec(config.name, config.codec)
    const view = new View(config.name, codec)
    const queued = this.queued && config.outbox !== false
    this.#register(config)
    this.callers.add(`collection:${config.name}`, { fly: flyCollection(config, codec), classify: config.classify, timeout: config.request?.timeout, config, codec })
    this.screen.add(view)
    this.#made.set(config.name, { view, config, queued })
    const direct = directHandlers(config, view, this.go)
    return {
      id: `${this.sync}/${config.name}`,
      getKey: config.getKey,
      ...(config.schema && { schema: config.schema }),
      ...(config.gcTime !== undefined && { gcTime: config.gcTime }),
      ...(config.single && { singleResult: true }),
      sync: { rowUpdateMode: 'full', sync: (params: unknown) => this.#start(view, config, params) },
      ...(queued ? this.screen.handlers(config) : direct),
      utils: { pacedUpdate: this.#pacedUpdate(view, config, queued, direct.onUpdate) },
    } as unknown as CollectionConfig<any, any>
  }

  /** Lets a fresh module know of all of them. */
  restart(): void {
    for (const { config, view } of this.#made.values()) {
      this.#register(config)
      if (view.collection) this.#pull(config)
    }
  }

  #register({ name, sync, version }: Config): void {
    this.go().call('register', `collection:${name}`, { fetched: sync !== undefined, versioned: version !== undefined })
  }

  #pull({ name, sync }: Config): void {
    if (sync) this.go().call('pull', name, sync.config.every)
  }

  /** Sends an app's own transaction, in order or as it comes. */
  send(transaction: Transaction<any>, inOrder = false): Promise<void> {
    const mutations = transaction.mutations as PendingMutation[]
    const made = mutations.map((mutation) => this.#of(mutation))
    if (made.every(({ queued }) => queued)) return this.screen.record(transaction, inOrder)
    const through = made.find(({ queued }) => queued)
    if (through) throw new OutboxError('invalid', `"${through.config.name}" has an Outbox and another collection of this transaction has none: write to them in transactions of their own`)
    return sendDirect(transaction, made.map(({ config, view }) => directHandlers(config, view, this.go)))
  }

  #of(mutation: PendingMutation): { view: View; config: Config; queued: boolean } {
    for (const made of this.#made.values()) {
      if (made.view.collection !== (mutation.collection as unknown)) continue
      const callback = ({ insert: 'onInsert', update: 'onUpdate', delete: 'onDelete' } as const)[mutation.type]
      if (!made.config[callback]) throw new OutboxError('invalid', `"${made.config.name}" has no ${callback}: there is nobody to send this ${mutation.type}`)
      return made
    }
    throw new OutboxError('invalid', `the collection "${mutation.collection.id}" does not belong to this Std Sync: write to it in a transaction of its own`)
  }

  #start(view: View, config: Config, params: unknown): () => void {
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
