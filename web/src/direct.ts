import type { PendingMutation, Transaction } from '@tanstack/db'
import { confirmedRows, type Rows } from './callbacks.js'
import type { Guard } from './host.js'
import { keyText, type Row } from './rows.js'
import type { Request, StdCollectionConfig } from './types.js'
import type { View } from './view.js'

/**
 * TanStack's handlers of a Collection without an Outbox: the callbacks are called
 * at once, and what they throw reaches the caller as it is.
 */
export function directHandlers(config: StdCollectionConfig<any, any>, view: View, go: Guard) {
  type Params = { transaction: Transaction<any> }
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
    go.async('confirm', config.name, rows, config.sync !== undefined).catch(() => undefined)
  }

  const each = async (params: Params, call: (mutation: PendingMutation, request: Request) => unknown) => {
    const request = requestOf(params.transaction)
    const mutations = mutationsOf(params)
    const returned = await Promise.all(mutations.map((mutation) => call(mutation, request)))
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

/** The request of a write that is sent at once. */
export function requestOf(transaction: Transaction<any>): Request {
  return {
    idempotencyKey: transaction.id,
    signal: new AbortController().signal,
    entryIds: [],
    attempt: 1,
    enqueuedAt: transaction.createdAt.getTime(),
  }
}
