// The page of the end-to-end tests: it does nothing but hand the package, the
// app's TanStack DB and the demo's API to the tests.
import * as db from '@tanstack/db'
import * as outbox from 'outbox-wasm'
import { api, type Todo } from '../../demo/src/api.js'
import { connectivity, network } from '../../demo/src/network.js'

/** What a test uses inside the page, as `lab`. */
const lab = {
  db,
  ...outbox,
  api,
  network,
  events: [] as outbox.OutboxEvent[],
  load: () => outbox.loadOutbox({ wasmUrl: new URL('./outbox.wasm', import.meta.url), db }),

  /** Opens a Std Sync with a Collection of the server's todos. */
  async open({ pull = 0, late = false, ...config }: { pull?: number; late?: boolean } & Partial<outbox.StdSyncConfig> = {}) {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'e2e', platform: outbox.browser({ connectivity }), outbox: true, onEvent: (event) => void lab.events.push(event), ...config })
    const collect = () =>
      std.collection<Todo, string>({
        name: 'todos',
        getKey: (todo) => todo.id,
        onInsert: ([todo], request) => api.create(todo as Todo, request),
        onUpdate: ({ current, updates, latest }, request) => api.patch(latest ?? current, updates, request),
        onDelete: ({ current, latest }, request) => api.remove(latest ?? current, request),
        ...(pull > 0 && { sync: outbox.syncStrategy.pull<Todo>({ fetch: ({ cursor, signal }) => api.changes(cursor, signal), every: pull }) }),
      })
    const opened = { std, todos: late ? undefined : collect(), collect: () => (opened.todos = collect()) }
    Object.assign(lab, { opened })
    await std.ready
    return opened
  },

  todo: (id: string, title: string): Todo => ({ id, title, done: false, note: '', version: 0 }),

  /** The rows on screen, without TanStack's additions. */
  rows(collection: { values(): Iterable<object> }): Todo[] {
    return [...collection.values()]
      .map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('$'))) as unknown as Todo)
      .sort((a, b) => a.id.localeCompare(b.id))
  },
}

export type Lab = typeof lab & { opened: Awaited<ReturnType<typeof lab.open>> & { todos: NonNullable<Awaited<ReturnType<typeof lab.open>>['todos']> } }
// The tests' compiler names functions through a helper that the page has to have.
Object.assign(globalThis, { lab, __name: (fn: unknown) => fn })
