// The page of the end-to-end tests: it does nothing but hand the package, the
// app's TanStack DB and the demo's API to the tests.
import * as db from '@tanstack/db'
import * as effect from 'effect'
import * as outbox from 'outbox-wasm'
import { z } from 'zod'
import { api, type Todo } from '../../demo/src/api.js'
import { connectivity, network } from '../../demo/src/network.js'

function opened<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}

async function changed(name: string, store: string, change: (at: IDBObjectStore) => void): Promise<void> {
  const db = await opened(indexedDB.open(name))
  const transaction = db.transaction(store, 'readwrite')
  change(transaction.objectStore(store))
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve
    transaction.onabort = () => reject(transaction.error)
  })
  db.close()
}

interface Numbered {
  id: string
  n: number
}

/** What a test uses inside the page, as `lab`. */
const lab = {
  db,
  effect,
  z,
  ...outbox,
  api,
  network,
  connectivity,
  /** What callbacks of a test note, by Entry. */
  noted: {} as Record<string, string>,
  events: [] as outbox.OutboxEvent[],
  load: (wasm = 'outbox.wasm') => outbox.loadOutbox({ wasmUrl: new URL(wasm, import.meta.url), db }),

  /** Opens a Std Sync with a Collection of the server's todos; a blind one sends no If-Match. */
  async open({ pull = 0, late = false, blind = false, wasm, boot, ...config }: { pull?: number; late?: boolean; blind?: boolean; wasm?: string; boot?: () => void } & Partial<outbox.StdSyncConfig> = {}) {
    const { createStdSync } = await lab.load(wasm)
    const std = createStdSync({ name: 'e2e', platform: outbox.browser({ connectivity }), outbox: true, onEvent: (event) => void lab.events.push(event), ...config })
    const collect = () =>
      std.collection<Todo, string>({
        name: 'todos',
        getKey: (todo) => todo.id,
        onInsert: ([todo], request) => api.create(todo as Todo, request),
        onUpdate: ({ current, updates, latest }, request) => api.patch(blind ? { ...current, version: 0 } : (latest ?? current), updates, request),
        onDelete: ({ current, latest }, request) => api.remove(latest ?? current, request),
        ...(pull > 0 && { sync: outbox.syncStrategy.pull<Todo>({ fetch: ({ cursor, signal }) => api.changes(cursor, signal), every: pull }) }),
      })
    const open = { std, todos: late ? undefined : collect(), collect: () => (open.todos = collect()) }
    Object.assign(lab, { opened: open })
    boot?.()
    await std.ready
    return open
  },

  /**
   * Opens a Std Sync whose callbacks note what they are called with, and then do as
   * `script` says of the row or call: hold until released, fail, or be away.
   */
  async scripted(config: Partial<outbox.StdSyncConfig> = {}) {
    const { createStdSync } = await lab.load()
    const flown: string[] = []
    const script: Record<string, 'hold' | 'fail' | 'away'> = {}
    const air = { now: 0, most: 0 }
    let wake = () => undefined as void
    const fly = async (what: string, key: string) => {
      flown.push(what)
      air.most = Math.max(air.most, ++air.now)
      try {
        while (script[key] === 'hold') await new Promise<void>((resolve) => (wake = ((before) => () => (before(), resolve()))(wake)))
        if (script[key] === 'fail') throw new Error(`no ${what}`)
        if (script[key] === 'away') throw new outbox.OutboxUnreachable()
      } finally {
        air.now--
      }
    }
    const std = createStdSync({ name: 'scripted', platform: outbox.memory(), outbox: true, onEvent: (event) => void lab.events.push(event), ...config })
    const collect = () => std.collection<Numbered, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: ([row]) => fly(`insert ${row!.id} ${row!.n}`, row!.id),
      onUpdate: ({ current, updates }) => fly(`update ${current.id} ${updates.n}`, current.id),
      onDelete: ({ current }) => fly(`delete ${current.id}`, current.id),
    })
    const act = () => std.createOfflineAction<{ queue: string; n: number }>({
      name: 'act',
      onMutate: ({ queue, n }) => void rows.insert({ id: `${queue}/${n}`, n }),
      queue: ({ queue }) => queue,
      mutationFn: ({ queue, n }) => fly(`act ${queue} ${n}`, `${queue} ${n}`),
    })
    const rows = collect()
    const scripted = {
      std, rows, flown, air, act,
      /** Has the callbacks do something else for a row. */
      say: (key: string, what?: 'hold' | 'fail' | 'away') => {
        if (what) script[key] = what
        else delete script[key]
        const woken = wake
        wake = () => undefined
        woken()
      },
      set: (id: string, n: number) => rows.update(id, (draft) => void (draft.n = n)),
      shown: () => [...rows.values()].map(({ id, n }) => `${id} ${n}`).sort(),
      outcome: (promise: Promise<unknown>) => promise.then(() => 'delivered', (error: { code: string }) => error.code),
      statuses: async () => {
        await std.outbox.entity.preload()
        return [...std.outbox.entity.values()].map(({ op, key, status }) => `${op} ${key ?? ''} ${status}`)
      },
      /** Waits until a check holds. */
      until: async (check: () => boolean) => {
        while (!check()) await new Promise((resolve) => setTimeout(resolve, 5))
      },
    }
    Object.assign(lab, { script: scripted, opened: scripted })
    return scripted
  },

  /** Makes an action that sets several todos done. */
  finishAll() {
    const { std, todos } = (lab as unknown as Lab).opened
    return std.createOfflineAction<{ ids: string[] }>({
      name: 'finish-all',
      onMutate: ({ ids }) => void todos.update(ids, (drafts) => drafts.forEach((draft) => void (draft.done = true))),
      mutationFn: async ({ ids }, request) => {
        for (const id of ids) await api.patch({ id } as Todo, { done: true }, { ...request, idempotencyKey: `${request.idempotencyKey}/${id}` })
      },
    })
  },

  /** Everything in an IndexedDB database, by object store. */
  async records(name: string): Promise<Record<string, Record<string, unknown>[]>> {
    const db = await opened(indexedDB.open(name))
    const stores = [...db.objectStoreNames]
    const transaction = db.transaction(stores)
    const all = await Promise.all(stores.map((store) => opened(transaction.objectStore(store).getAll())))
    db.close()
    return Object.fromEntries(stores.map((store, at) => [store, all[at] as Record<string, unknown>[]]))
  },

  /** Puts records into an object store. */
  put: (name: string, store: string, records: object[]) => changed(name, store, (at) => records.forEach((record) => at.put(record))),

  /** Empties an object store. */
  clear: (name: string, store: string) => changed(name, store, (at) => at.clear()),

  todo: (id: string, title: string): Todo => ({ id, title, done: false, note: '', version: 0 }),

  /** The rows on screen, without TanStack's additions. */
  rows(collection: { values(): Iterable<object> }): Todo[] {
    return [...collection.values()]
      .map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('$'))) as unknown as Todo)
      .sort((a, b) => a.id.localeCompare(b.id))
  },
}

export type Lab = typeof lab & { opened: Awaited<ReturnType<typeof lab.open>> & { todos: NonNullable<Awaited<ReturnType<typeof lab.open>>['todos']> }; script: Awaited<ReturnType<typeof lab.scripted>> }
// The tests' compiler names functions through a helper that the page has to have.
Object.assign(globalThis, { lab, __name: (fn: unknown) => fn })
