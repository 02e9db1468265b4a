import type { Runtime, StdCollectionConfig } from './types.js'

/** Calls of callbacks whose Effects are run. */
export class Runner {
  constructor(readonly runtime: Runtime | undefined) {}

  /** A callback of the user's, the `request` its last argument, that returns no Effect any more. */
  callback<Args extends [...unknown[], { signal: AbortSignal }], R>(fn: (...args: Args) => R): (...args: Args) => R | Promise<unknown> {
    const { runtime } = this
    if (!runtime) return fn
    return (...args) => {
      const returned = fn(...args)
      const { signal } = args.at(-1) as { signal: AbortSignal }
      return isEffect(returned) ? runtime.runPromise(returned, { signal }).catch(rethrow) : returned
    }
  }

  /** A Collection's callbacks, none of which returns an Effect. */
  collection<T extends object, TKey extends string | number>(config: StdCollectionConfig<T, TKey>): StdCollectionConfig<T, TKey> {
    if (!this.runtime) return config
    const { onInsert, onUpdate, onDelete, sync } = config
    return {
      ...config,
      ...(onInsert && { onInsert: this.callback(onInsert) }),
      ...(onUpdate && { onUpdate: this.callback(onUpdate) }),
      ...(onDelete && { onDelete: this.callback(onDelete) }),
      ...(sync && { sync: { ...sync, config: { ...sync.config, fetch: this.callback(sync.config.fetch) as typeof sync.config.fetch } } }),
    }
  }
}

/** Effects carry their brand: a text since version 4, a registered symbol before. */
const brands = ['~effect/Effect', Symbol.for('effect/Effect')]

function isEffect(value: unknown): boolean {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && brands.some((brand) => brand in value)
}

const failureCause = Symbol.for('effect/Runtime/FiberFailure/Cause')

/** Before version 4, an Effect's own error is wrapped in one of the runtime's. */
function rethrow(thrown: unknown): never {
  const cause = (thrown as { [failureCause]?: Cause } | null)?.[failureCause]
  throw (cause && firstOf(cause)) ?? thrown
}

interface Cause {
  _tag: string
  error?: unknown
  defect?: unknown
  left?: Cause
  right?: Cause
}

function firstOf(cause: Cause | undefined): unknown {
  return cause && (cause.error ?? cause.defect ?? firstOf(cause.left) ?? firstOf(cause.right))
}
