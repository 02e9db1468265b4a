// Compiled, never run: what the types must accept and refuse.
import type { Collection } from '@tanstack/db'
import { browser, loadOutbox, memory, OutboxError, OutboxUnreachable, paceStrategy, syncStrategy, type EntryRow, type OutboxErrorCode } from '../src/index.js'

interface Todo {
  id: string
  title: string
}

const { createStdSync } = await loadOutbox()
const std = createStdSync({ name: 'x', platform: browser({ databaseName: 'y' }), outbox: true, version: 3, classify: () => undefined, onEvent: ({ type, at }) => void [type, at] })
const todos: Collection<Todo, string> = std.collection<Todo, string>({
  name: 'todos',
  getKey: (todo) => todo.id,
  onInsert: ([todo], { idempotencyKey, signal }) => fetch(`/${todo!.title}/${idempotencyKey}`, { signal }),
  onUpdate: async ({ current, updates, latest }) => ({ ...(latest ?? current), ...updates }),
  onDelete: ({ current }) => void current.id,
  sync: syncStrategy.pull<Todo>({ fetch: async ({ cursor, signal }) => ({ rows: [], deleted: ['1', 2], cursor: [cursor, signal.aborted], more: false }), every: 1000 }),
})
const paced = std.collection<Todo, string>({
  name: 'paced',
  getKey: (todo) => todo.id,
  codec: { encode: ({ id }) => ({ id }), decode: ({ id }: { id: string }) => ({ id, title: '' }) },
  pacing: paceStrategy.debounce({ wait: 300 }),
  request: { timeout: 5000 },
})
paced.utils.pacedUpdate('1', (draft) => void (draft.title = 'x'))
std.collection<Todo>({ name: 'settings', single: true, onUpdate: () => undefined })
const transaction = todos.insert({ id: '1', title: 't' })
const stored: Promise<void> = std.outbox.stored(transaction)
const entities: Collection<EntryRow, string> = std.outbox.entity
const code: OutboxErrorCode = new OutboxError('failed', 'x').code
throw new OutboxUnreachable('x', { cause: [stored, entities, code, memory()] })

// @ts-expect-error a Std Sync has a name
createStdSync({ outbox: true })
// @ts-expect-error an unknown option
createStdSync({ name: 'x', outboxx: true })
// @ts-expect-error a Collection has a getKey
std.collection<Todo>({ name: 'x' })
// @ts-expect-error the list of codes is closed
new OutboxError('oops', 'x')
