import * as db from '@tanstack/db'
import { browser, loadOutbox, syncStrategy, type EntryRow } from 'outbox-wasm'
import { api, type Todo } from './api.js'
import { connectivity, network } from './network.js'

const { createStdSync } = await loadOutbox({ wasmUrl: new URL('./outbox.wasm', import.meta.url), db })

const std = createStdSync({ name: 'demo', platform: browser({ connectivity }), outbox: true })
const todos = std.collection<Todo, string>({
  name: 'todos',
  getKey: (todo) => todo.id,
  onInsert: ([todo], request) => api.create(todo as Todo, request),
  onUpdate: ({ current, updates, latest }, request) => api.patch(latest ?? current, updates, request),
  onDelete: ({ current, latest }, request) => api.remove(latest ?? current, request),
  sync: syncStrategy.pull<Todo>({ fetch: ({ cursor, signal }) => api.changes(cursor as number | undefined, signal), every: 2_000 }),
})
const entries = std.outbox.entity

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T

/** Makes an element with properties and children. */
function make<K extends keyof HTMLElementTagNameMap>(tag: K, properties: Partial<HTMLElementTagNameMap[K]>, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

function todoItem(todo: Todo & { $hasPendingWrites?: boolean }): HTMLLIElement {
  const title = make('input', { type: 'text', value: todo.title })
  title.onchange = () => todos.update(todo.id, (draft) => void (draft.title = title.value))
  const done = make('input', { type: 'checkbox', checked: todo.done })
  done.onchange = () => todos.update(todo.id, (draft) => void (draft.done = done.checked))
  const remove = make('button', { type: 'button', textContent: 'delete', onclick: () => void todos.delete(todo.id) })
  const item = make('li', {}, done, title, remove)
  item.dataset['id'] = todo.id
  item.classList.toggle('done', todo.done)
  item.classList.toggle('unsent', todo.$hasPendingWrites === true)
  return item
}

/** An Entry in a few words. */
function inWords({ op, base, changes }: EntryRow): string {
  if (op === 'update') {
    const { title } = base as Todo
    return `update “${title}”: ${Object.entries(changes as Todo).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(', ')}`
  }
  return `${op} “${((changes ?? base) as Todo).title}”`
}

function entryItem(entry: EntryRow): HTMLLIElement {
  const what = make('span', { className: 'what', textContent: inWords(entry) })
  const item = make('li', {}, make('span', { className: `tag ${entry.status}`, textContent: entry.status }), what)
  item.dataset['id'] = entry.id
  if (entry.error) what.append(make('span', { className: 'why', textContent: entry.error.message }))
  if (entry.status === 'failed') item.append(make('button', { type: 'button', textContent: 'retry', onclick: () => void std.outbox.retry(entry.id) }))
  if (entry.status !== 'in-request') {
    item.append(make('button', { type: 'button', textContent: 'discard', onclick: () => void std.outbox.discard(entry.id).catch(() => undefined) }))
  }
  return item
}

/** Draws a list anew, but leaves the field that is being typed in alone. */
function draw(list: HTMLElement, items: HTMLElement[]): void {
  if (list.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement && document.activeElement.type === 'text') return
  list.replaceChildren(...items)
}

const drawTodos = () => draw(element('todos'), [...todos.values()].sort((a, b) => a.title.localeCompare(b.title)).map(todoItem))
const drawEntries = () => {
  element('count').textContent = entries.size === 0 ? 'empty' : String(entries.size)
  draw(element('entries'), [...entries.values()].map(entryItem))
}
const drawStatus = () => {
  const { leader, pending, inRequest, failed, waitingFor } = std.outbox.status()
  const waits = waitingFor ? `, waiting for ${waitingFor}` : ''
  element('status').textContent = `${leader ? 'this tab sends' : 'another tab sends'} · ${pending + inRequest} unsent, ${failed} failed${waits}`
}

todos.subscribeChanges(drawTodos)
entries.subscribeChanges(drawEntries, { includeInitialState: true })
std.outbox.subscribe(drawStatus)
connectivity.subscribe(drawStatus)

element<HTMLFormElement>('add').onsubmit = (event) => {
  event.preventDefault()
  const title = element<HTMLInputElement>('title')
  todos.insert({ id: crypto.randomUUID(), title: title.value, done: false, note: '', version: 0 })
  title.value = ''
}
const offline = element<HTMLInputElement>('offline')
offline.checked = network.off
offline.onchange = () => (network.off = offline.checked)
addEventListener('storage', () => (offline.checked = network.off))
element('tab').onclick = () => void open(location.href)

await std.ready
drawTodos()
drawEntries()
drawStatus()
document.body.dataset['ready'] = 'yes'
