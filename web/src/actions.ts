import type { Callers } from './callers.js'
import { requestOf } from './direct.js'
import { OutboxError, Waiting } from './errors.js'
import type { Guard } from './host.js'
import { deliveredOf, type Replayed } from './live.js'
import { checkOptions, checkRequest, checkTypes, type OptionType } from './options.js'
import { storableValue } from './rows.js'
import type { Runner } from './runtime.js'
import type { Screen, Tell } from './screen.js'
import type { OfflineAction, OfflineActionConfig, StdSync, TanStackDb } from './types.js'

const types: Record<string, OptionType> = { name: 'string', payload: 'schema', onMutate: 'function', mutationFn: 'function', queue: 'function', classify: 'function', request: 'object' }

/** Makes an Offline Action of a Std Sync. */
export function createOfflineAction<In, Out = In>(std: StdSync, config: OfflineActionConfig<In, Out>): OfflineAction<In> {
  return std.createOfflineAction(config)
}

/** The Offline Actions of a Std Sync. */
export class Actions {
  readonly #actions = new Map<string, OfflineActionConfig<any, any>>()
  /** Stored calls that could not be shown, by transaction. */
  readonly #skipped = new Map<string, [name: string, Replayed]>()
  /** The stored calls of boot actions have been replayed. */
  #replayed = false

  constructor(
    readonly go: () => Guard,
    readonly db: TanStackDb,
    readonly screen: Screen,
    readonly callers: Callers,
    /** Without an Outbox, a call is sent as TanStack sends it. */
    readonly queued: boolean,
    readonly runner: Runner,
    readonly tell: Tell,
  ) {}

  /** Makes an action; see {@link StdSync.createOfflineAction}. */
  create<In, Out>(given: OfflineActionConfig<In, Out>): OfflineAction<In> {
    checkOptions('createOfflineAction()', given, Object.keys(types), ['name', 'onMutate', 'mutationFn'])
    checkTypes('createOfflineAction()', given, types)
    checkRequest('createOfflineAction()', given.request)
    const config = { ...given, mutationFn: this.runner.callback(given.mutationFn) }
    const { name, mutationFn, classify, request } = config
    this.screen.serving(() => this.go().call('register', `action:${name}`, {}))
    this.#actions.set(name, config)
    this.callers.add(`action:${name}`, {
      classify,
      timeout: request?.timeout,
      fly: async ({ payload }, request) => {
        await mutationFn(stored(config, payload), request)
        return []
      },
    })
    if (this.#replayed) this.#replay(name).catch(() => undefined)
    return this.queued ? (payload) => this.#call(config, payload) : (payload) => this.#direct(config, payload)
  }

  /** Lets a fresh module know of all of them. */
  restart(): void {
    for (const name of this.#actions.keys()) this.go().call('register', `action:${name}`, {})
  }

  /** Replays the stored calls of all actions there are. */
  async replay(): Promise<void> {
    this.#replayed = true
    await Promise.all([...this.#actions.keys()].map((name) => this.#replay(name)))
  }

  #replay(name: string): Promise<void> {
    return this.queued ? this.go().async('replayAction', name) : Promise.resolve()
  }

  /** Go has read the stored calls of an action. */
  restore(name: string, entries: readonly Replayed[]): void {
    for (const entry of entries) this.#show(name, entry, false)
  }

  /** Shows a stored call, or notes that it cannot be shown yet. */
  #show(name: string, entry: Replayed, again: boolean): void {
    const config = this.#actions.get(name)
    if (!config) return
    const about = { name: entry.name, entryIds: [entry.id] }
    try {
      const payload = stored(config, entry.payload)
      if (this.screen.restoreCall(entry, () => config.onMutate(payload))) this.tell({ type: 'replayed', ...about, count: 1 })
      this.#skipped.delete(entry.transaction)
    } catch (cause) {
      this.#skipped.set(entry.transaction, [name, entry])
      if (again) return
      this.tell({ type: 'replay-skipped', ...about, error: new OutboxError('invalid', `the stored call of "${name}" could not be shown again; it is kept and will be sent`, { cause, entryId: entry.id }) })
    }
  }

  /** More rows are there: shows the calls that could not be shown without them. */
  showSkipped(): void {
    for (const [name, entry] of [...this.#skipped.values()]) this.#show(name, entry, true)
  }

  /** These transactions have ended. */
  settled(transactions: Iterable<string>): void {
    for (const transaction of transactions) this.#skipped.delete(transaction)
  }

  /** Calls among these Entries have come back. */
  restoreAll(entries: readonly Replayed[]): void {
    for (const entry of entries) if (entry.name.startsWith('action:')) this.restore(entry.name.slice('action:'.length), [entry])
  }

  /** A call: shown at once, stored, and sent when it can be. */
  #call<In, Out>(config: OfflineActionConfig<In, Out>, payload: In) {
    const { name, onMutate } = config
    const value = decoded(config, payload)
    const queue = config.queue?.(value)
    const call = { action: name, payload: storableValue(`the payload of "${name}"`, payload), ...(queue !== undefined && { queue: String(queue) }) }
    let delivered: Promise<void> | undefined
    const transaction = this.db.createOptimisticAction<Out>({
      onMutate: onMutate as (value: Out) => void,
      mutationFn: (_, { transaction }) => (delivered = this.screen.recordCall(transaction as never, call)),
    })(value)
    // TanStack completes a transaction that wrote nothing without asking.
    delivered ??= this.screen.recordCall(transaction as never, call)
    return Object.assign(transaction, { delivered }) as unknown as ReturnType<OfflineAction<In>>
  }

  /** A call that TanStack sends at once. */
  #direct<In, Out>(config: OfflineActionConfig<In, Out>, payload: In) {
    const value = decoded(config, payload)
    const transaction = this.db.createOptimisticAction<Out>({
      onMutate: config.onMutate as (value: Out) => void,
      mutationFn: async (_, { transaction }) => config.mutationFn(value, requestOf(transaction as never)),
    })(value)
    return Object.assign(transaction, { delivered: deliveredOf(transaction as never) }) as unknown as ReturnType<OfflineAction<In>>
  }
}

/** The payload as the action's own functions see it. */
function decoded<In, Out>({ name, payload: schema }: OfflineActionConfig<In, Out>, payload: In): Out {
  if (!schema) return payload as unknown as Out
  const result = schema['~standard'].validate(payload)
  if (result instanceof Promise) throw new OutboxError('invalid', `"${name}": the payload's schema must validate synchronously`)
  if (result.issues) {
    const [issue] = result.issues
    const path = issue?.path?.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    throw new OutboxError('invalid', `"${name}": the payload${path ? `'s field "${path}"` : ''} is wrong: ${issue?.message}`)
  }
  return result.value
}

/** A stored payload. One that does not fit any more waits for code that it fits. */
function stored<In, Out>(config: OfflineActionConfig<In, Out>, payload: unknown): Out {
  try {
    return decoded(config, payload as In)
  } catch (cause) {
    throw new Waiting((cause as Error).message, { cause })
  }
}
