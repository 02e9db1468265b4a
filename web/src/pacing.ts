import type { Collection, Strategy, Transaction } from '@tanstack/db'
import { OutboxError } from './errors.js'
import type { PaceStrategy, StdUtils, TanStackDb } from './types.js'

/** When `utils.pacedUpdate` sends, where there is no Outbox: TanStack's own strategies. */
export const paceStrategy = {
  /** Sends once no update has come for `wait` ms. */
  debounce: (options: Extract<PaceStrategy, { kind: 'debounce' }>['options']): PaceStrategy => ({ kind: 'debounce', options }),
  /** Sends at most every `wait` ms. */
  throttle: (options: Extract<PaceStrategy, { kind: 'throttle' }>['options']): PaceStrategy => ({ kind: 'throttle', options }),
  /** Sends updates one after another. */
  queue: (options?: Extract<PaceStrategy, { kind: 'queue' }>['options']): PaceStrategy => ({ kind: 'queue', options }),
}

type Update = StdUtils<any, any>['pacedUpdate']

/** `utils.pacedUpdate` of a Collection: its `update`. */
export function unpaced(collection: () => Collection<any, any>): Update {
  return ((...args: Parameters<Update>) => collection().update(...args)) as Update
}

/** `utils.pacedUpdate` of a Collection that no Outbox paces; `send` is its `onUpdate`. */
export function paced(db: TanStackDb, pacing: PaceStrategy, collection: () => Collection<any, any>, send: (params: { transaction: Transaction<any> }) => Promise<unknown>): Update {
  const update = part(db, 'createPacedMutations')<Parameters<Update>, any>({
    strategy: strategyOf(db, pacing),
    onMutate: (args) => void collection().update(...args),
    mutationFn: send,
  })
  return ((...args: Parameters<Update>) => update(args)) as Update
}

function strategyOf(db: TanStackDb, pacing: PaceStrategy): Strategy {
  switch (pacing.kind) {
    case 'debounce':
      return part(db, 'debounceStrategy')(pacing.options)
    case 'throttle':
      return part(db, 'throttleStrategy')(pacing.options)
    default:
      return part(db, 'queueStrategy')(pacing.options)
  }
}

function part<Name extends 'createPacedMutations' | 'debounceStrategy' | 'throttleStrategy' | 'queueStrategy'>(db: TanStackDb, name: Name): NonNullable<TanStackDb[Name]> {
  const found = db[name]
  if (!found) throw new OutboxError('invalid', `std.collection(): the option "pacing" needs ${name} of @tanstack/db; pass it to loadOutbox({ db })`)
  return found as NonNullable<TanStackDb[Name]>
}
