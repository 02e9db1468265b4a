import type { PendingMutation, Transaction } from '@tanstack/db'
import { confirmedRows, stored, type Rows } from './callbacks.js'
import type { Config } from './collections.js'
import type { Guard } from './host.js'
import { keyText, type Row } from './rows.js'
import type { Request } from './types.js'
import type { View } from './view.js'

type Params = { transaction: Pick<Transaction<any>, 'id' | 'mutations' | 'createdAt'> }

/**
 * TanStack's handlers of a Collection without an Outbox: the callbacks are called
 * at once, and what they throw reaches the caller as it is.
 */
export function directHandlers(config: Config, view: View, go: () => Guard) {
  const mutationsOf = ({ transaction }: Params) => transaction.mutations as PendingMutation[]

  /** What the Backend returned, or else what the user wrote. */
  const confirm = (mutations: PendingMutation[], returned: unknown) => {
    const keys = mutations.map(({ key }) => keyText(key))
    const known = new Map(confirmedRows(config, keys, returned))
    const rows: Rows = mutations.map((mutation) => {
      const key = keyText(mutation.key)
      return [key, mutation.type === 'delete' ? undefined : (known.get(key) ?? (mutation.modified as Row))]
    })
    view.write(rows)
    go().async('confirm', config.name, stored(view.codec, rows), config.sync !== undefined).catch(() => undefined)
  }

  const each = async (params: Params, call: (mutation: PendingMutation, request: Request) => unknown) => {
    const mutations = mutationsOf(params)
    const returned = await Promise.all(mutations.map((mutation, n) => call(mutation, requestOf(oneOf(params.transaction, n)))))
    confirm(mutations, returned.flat())
  }
  return {
    ...(config.onInsert && {
      onInsert: async (params: Params) => {
        const mutations = mutationsOf(params)
        confirm(mutations, await config.onInsert?.(mutations.map(({ modified }) => modified), requestOf(params.transaction)))
      },
    }),
    ...(config.onUpdate && {
      onUpdate: (params: Params) => each(params, ({ original, changes, key }, request) => config.onUpdate?.({ current: original, updates: changes, latest: view.confirmed(keyText(key)) }, request)),
    }),
    ...(config.onDelete && {
      onDelete: (params: Params) => each(params, ({ original, key }, request) => config.onDelete?.({ current: original, latest: view.confirmed(keyText(key)) }, request)),
    }),
  }
}

/** Sends an app's own transaction at once, one write after another, each through its Collection's handlers. */
export async function sendDirect(transaction: Transaction<any>, handlers: readonly ReturnType<typeof directHandlers>[]): Promise<void> {
  for (const [n, { type }] of (transaction.mutations as PendingMutation[]).entries()) {
    const { onInsert, onUpdate, onDelete } = handlers[n] ?? {}
    await (type === 'insert' ? onInsert : type === 'update' ? onUpdate : onDelete)?.({ transaction: oneOf(transaction, n) })
  }
}

/** One write of a transaction as a transaction of its own: each is sent under its own key. */
function oneOf({ id, createdAt, mutations }: Params['transaction'], n: number): Params['transaction'] {
  return { id: mutations.length === 1 ? id : `${id}:${n}`, createdAt, mutations: [mutations[n]] } as Params['transaction']
}

/** The request of a write that is sent at once. */
export function requestOf(transaction: Params['transaction']): Request {
  return {
    idempotencyKey: transaction.id,
    signal: new AbortController().signal,
    entryIds: [],
    attempt: 1,
    enqueuedAt: transaction.createdAt.getTime(),
  }
}
