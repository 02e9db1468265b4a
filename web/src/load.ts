import { Engine } from './engine.js'
import { OutboxError } from './errors.js'
import { compile } from './host.js'
import { checkOptions } from './options.js'
import { makeStdSync, type Live } from './std.js'
import type { LoadOptions, Outbox, TanStackDb } from './types.js'

let loading: Promise<{ outbox: Outbox; engine: Engine; tanstack: TanStackDb }> | undefined

/**
 * Loads `outbox.wasm`, once a page: later calls return the same module. One that
 * died is started again by itself, unless it died three times within a minute; then
 * the next call loads it anew.
 *
 * Rejects with `invalid` if the module is not where `wasmUrl` says, or if
 * `@tanstack/db` is neither given nor found.
 */
export async function loadOutbox(options: LoadOptions = {}): Promise<Outbox> {
  checkOptions('loadOutbox()', options, ['wasmUrl', 'db'])
  loading ??= load(options).catch((error: unknown) => {
    loading = undefined
    throw error
  })
  const { outbox, engine, tanstack } = await loading
  if (options.db && options.db.createTransaction !== tanstack.createTransaction) {
    throw new OutboxError('invalid', 'loadOutbox(): another copy of @tanstack/db is in use already; there must be one copy on a page, so check what bundles the second')
  }
  await engine.serving
  return outbox
}

async function load({ wasmUrl = new URL('./outbox.wasm', import.meta.url), db }: LoadOptions) {
  const [module, tanstack] = await Promise.all([compile(wasmUrl), db ?? findDb()])
  const engine = await Engine.start(module, () => (loading = undefined))
  const live = new Map<string, Live>()
  const outbox: Outbox = { createStdSync: (config) => makeStdSync(config, { engine, db: tanstack, live }) }
  return { outbox, engine, tanstack }
}

async function findDb(): Promise<TanStackDb> {
  try {
    return await import('@tanstack/db')
  } catch (cause) {
    throw new OutboxError('invalid', 'loadOutbox(): @tanstack/db was not found; pass the copy your app uses as { db }', { cause })
  }
}
