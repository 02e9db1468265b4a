import { OutboxError } from './errors.js'
import { compile, Instance } from './host.js'
import { checkOptions } from './options.js'
import { makeStdSync } from './std.js'
import type { LoadOptions, Outbox, TanStackDb } from './types.js'

let loading: Promise<Outbox> | undefined

/**
 * Loads `outbox.wasm`, once a page: later calls return the same module.
 *
 * Rejects with `invalid` if the module is not where `wasmUrl` says, or if
 * `@tanstack/db` is neither given nor found.
 */
export function loadOutbox(options: LoadOptions = {}): Promise<Outbox> {
  checkOptions('loadOutbox()', options, ['wasmUrl', 'db'])
  loading ??= load(options).catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

async function load({ wasmUrl = new URL('./outbox.wasm', import.meta.url), db }: LoadOptions): Promise<Outbox> {
  const [module, tanstack] = await Promise.all([compile(wasmUrl), db ?? findDb()])
  const instance = await Instance.start(module)
  const names = new Set<string>()
  return { createStdSync: (config) => makeStdSync(config, { go: instance.exports, db: tanstack, names }) }
}

async function findDb(): Promise<TanStackDb> {
  try {
    return await import('@tanstack/db')
  } catch (cause) {
    throw new OutboxError('invalid', 'loadOutbox(): @tanstack/db was not found; pass the copy your app uses as { db }', { cause })
  }
}
