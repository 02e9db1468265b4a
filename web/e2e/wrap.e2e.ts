import type { Page } from 'playwright-core'
import { applied, assert, entries, eventually, stage, test } from './support.js'

const now = stage()

interface Options {
  /** The source says nothing by itself: a test writes what it says. */
  manual?: boolean
}

/** A Std Sync that wraps a plain TanStack Collection, which polls the server and sends by its own handlers. */
function wrapped(page: Page, options: Options = {}) {
  return page.evaluate(async ({ manual }) => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'wrapped', platform: lab.browser({ connectivity: lab.connectivity }), outbox: true, onEvent: (event) => void lab.events.push(event) })
    type Todo = ReturnType<typeof lab.todo>
    type Sync = { begin(): void; write(message: object): void; commit(): unknown }
    let source!: Sync
    const flown: unknown[] = []
    let confirm: (row: Todo) => void = () => undefined
    let away = false
    const handler = async ({ transaction, collection, request }: any) => {
      const [mutation] = transaction.mutations
      flown.push([transaction.id === request.idempotencyKey, transaction.mutations.length, mutation.type, mutation.key, mutation.original, mutation.modified, mutation.changes, mutation.collection === collection])
      if (away) throw new lab.OutboxUnreachable()
      if (manual) return void confirm(mutation.modified)
      const send = { insert: () => lab.api.create(mutation.modified, request), update: () => lab.api.patch({ ...mutation.original, version: 0 }, mutation.changes, request), delete: () => lab.api.remove(mutation.original, request) }[mutation.type as 'insert']
      await send()
      await poll()
    }
    let cursor = 0
    const poll = async () => {
      const page = await lab.api.changes(cursor, new AbortController().signal)
      if (page.cursor === cursor) return
      cursor = page.cursor
      source.begin()
      for (const row of page.rows) source.write({ type: 'update', value: row })
      for (const key of page.deleted) source.write({ type: 'delete', key })
      source.commit()
    }
    const rows = lab.db.createCollection(std.wrap(
      {
        id: 'plain', getKey: (todo: Todo) => todo.id, onInsert: handler, onUpdate: handler, onDelete: handler,
        sync: {
          rowUpdateMode: 'full' as const,
          sync: (params: any) => {
            source = params
            if (manual) return void params.markReady()
            let timer: ReturnType<typeof setTimeout>
            const again = () => poll().then(() => params.markReady(), () => undefined).finally(() => (timer = setTimeout(again, 50)))
            void again()
            return () => clearTimeout(timer)
          },
        },
      },
      { name: 'todos' },
    ))
    const events: string[] = []
    rows.subscribeChanges((changes) => changes.forEach(({ type, key, value }) => events.push(`${type} ${key} ${value.title} ${value.note} ${value.$hasPendingWrites}`)), { includeInitialState: false })
    await std.ready
    const write = (...messages: object[]) => {
      source.begin()
      for (const message of messages) source.write(message)
      return source.commit() === true
    }
    const kit = {
      std, rows, flown, events, write,
      confirms: (how: (row: Todo) => void) => void (confirm = how),
      offline: (off: boolean) => {
        away = off
        if (!off) std.outbox.drain()
      },
      shown: () => [...rows.values()].map(({ id, title, note }: any) => `${id} ${title} ${note}`).sort(),
    }
    Object.assign(lab, { opened: kit, kit })
    return kit.shown()
  }, options)
}

const shown = (page: Page) => page.evaluate(() => (lab as any).kit.shown() as string[])

test('a wrapped collection keeps its edits over a reload and sends them by its own handlers, once', async () => {
  for (const id of ['a', 'b']) await now.server.foreign(id, { title: id })
  const page = await now.chrome.tab(now.server.url)
  await wrapped(page)
  await eventually(async () => assert.deepEqual(await shown(page), ['a a ', 'b b ']))
  await page.evaluate(async () => {
    lab.network.off = true
    const { std, rows } = (lab as any).kit
    rows.update('a', (draft: any) => void (draft.title = 'a2'))
    rows.update('a', (draft: any) => void (draft.note = 'n'))
    rows.delete('b')
    await std.outbox.stored(rows.insert(lab.todo('c', 'c')))
  })
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await wrapped(page)
  await eventually(async () => assert.deepEqual(await shown(page), ['a a2 n', 'c c ']))
  await page.evaluate(() => void (lab.network.off = false))
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.deepEqual(applied(await now.server.requests()).sort(), ['DELETE /api/todos/b', 'PATCH /api/todos/a', 'POST /api/todos'])
  assert.deepEqual(await shown(page), ['a a2 n', 'c c '])
  const flown = (await page.evaluate(() => (lab as any).kit.flown)) as unknown[][]
  const update = flown.find(([, , type]) => type === 'update')!
  assert.deepEqual([update[0], update[1], update[3], (update[4] as { title: string }).title, (update[5] as { title: string }).title, update[6], update[7]], [true, 1, 'a', 'a', 'a2', { title: 'a2', note: 'n' }, true])
})

test('while an edit of a wrapped collection waits, its source writes other rows and other fields at once', async () => {
  const page = await now.chrome.tab(now.server.url)
  await wrapped(page, { manual: true })
  const seen = await page.evaluate(async () => {
    const { std, rows, write, shown, offline } = (lab as any).kit
    write({ type: 'insert', value: lab.todo('a', 'a') }, { type: 'insert', value: lab.todo('b', 'b') })
    offline(true)
    const edit = rows.update('a', (draft: any) => void (draft.title = 'mine'))
    await std.outbox.stored(edit)
    const applied = [
      write({ type: 'insert', value: lab.todo('c', 'c') }),
      write({ type: 'update', value: { ...lab.todo('a', 'theirs'), note: 'theirs' } }),
      write({ type: 'delete', key: 'b' }),
    ]
    const query = lab.db.createLiveQueryCollection((q) => q.from({ row: rows }))
    await query.preload()
    return { applied, shown: shown(), state: edit.state, live: query.size }
  })
  assert.deepEqual(seen, { applied: [true, true, true], shown: ['a mine theirs', 'c c '], state: 'persisting', live: 2 })
})

test('an on-demand load of a wrapped collection does not hang on an edit that waits', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'wrapped', platform: lab.memory(), outbox: true })
    interface Row {
      id: string
      n: number
    }
    let loads = 0
    const rows = lab.db.createCollection(std.wrap(
      {
        id: 'plain', getKey: (row: Row) => row.id, syncMode: 'on-demand' as const, onInsert: async () => { throw new lab.OutboxUnreachable() },
        sync: {
          sync: ({ begin, write, commit, markReady }: any) => {
            markReady()
            return {
              loadSubset: async () => {
                begin()
                write({ type: 'insert', value: { id: `loaded${++loads}`, n: loads } })
                await commit()
              },
            }
          },
        },
      },
      { name: 'rows' },
    ))
    await std.outbox.stored(rows.insert({ id: 'mine', n: 0 }))
    const query = lab.db.createLiveQueryCollection((q) => q.from({ row: rows as never }))
    await query.preload()
    return (query.toArray as unknown as Row[]).map(({ id }) => id).sort()
  })
  assert.deepEqual(seen, ['loaded1', 'mine'])
})

test('a delivered write of a wrapped collection is shown as the source confirms it, and does not flicker', async () => {
  const page = await now.chrome.tab(now.server.url)
  await wrapped(page, { manual: true })
  const seen = await page.evaluate(async () => {
    const { std, rows, write, shown, events, confirms } = (lab as any).kit
    const results: unknown[] = []
    const play = async (edit: () => { id: string }) => {
      events.length = 0
      await std.outbox.delivered(edit())
      await new Promise((resolve) => setTimeout(resolve, 20))
      results.push([shown(), [...events]])
    }
    // The source tells while the Request flies: it has the last word.
    confirms((row: any) => write({ type: 'update', value: { ...row, note: 'by the server' } }))
    await play(() => rows.insert(lab.todo('a', 'a')))
    await play(() => rows.update('a', (draft: any) => void (draft.title = 'a2')))
    // It tells later: the row stays as written until then.
    confirms(() => undefined)
    await play(() => rows.insert(lab.todo('b', 'b')))
    await play(() => rows.update('b', (draft: any) => void (draft.title = 'b2')))
    await play(() => rows.delete('a'))
    write({ type: 'update', value: lab.todo('b', 'b3') })
    return { results, end: shown() }
  })
  assert.deepEqual(seen.results, [
    [['a a by the server'], ['insert a a  true', 'update a a by the server false']],
    [['a a2 by the server'], ['update a a2 by the server true', 'update a a2 by the server false']],
    [['a a2 by the server', 'b b '], ['insert b b  true', 'update b b  false']],
    [['a a2 by the server', 'b b2 '], ['update b b2  true', 'update b b2  false']],
    [['b b2 '], ['delete a a2 by the server false']],
  ])
  assert.deepEqual(seen.end, ['b b3 '])
})

test('a follower shows a delivered write until its own source tells, and keeps what the source has changed since', async () => {
  const leader = await now.chrome.tab(now.server.url)
  await wrapped(leader, { manual: true })
  const page = await now.chrome.tab(now.server.url)
  await wrapped(page, { manual: true })
  await page.evaluate(async () => {
    const { rows, write, std } = (lab as any).kit
    write({ type: 'insert', value: lab.todo('a', 'a') })
    const edit = rows.update('a', (draft: any) => {
      draft.title = 'mine'
      draft.note = 'mine'
    })
    write({ type: 'update', value: { ...lab.todo('a', 'a'), note: 'theirs' } })
    await std.outbox.delivered(edit)
  })
  assert.deepEqual(await shown(page), ['a mine theirs'])
  assert.equal((await leader.evaluate(() => (lab as any).kit.flown)).length, 1)
})

test('what is refused of a wrapped collection is rolled back, and a second collection of a name is refused', async () => {
  const page = await now.chrome.tab(now.server.url)
  await wrapped(page)
  const seen = await page.evaluate(async () => {
    const { std, rows, shown } = (lab as any).kit
    const code = await std.outbox.delivered(rows.insert(lab.todo('x', ' '))).then(() => 'delivered', (error: { code: string }) => error.code)
    const message = (run: () => unknown) => {
      try {
        run()
      } catch (error) {
        return (error as Error).message
      }
      return 'accepted'
    }
    const options = { getKey: ({ id }: { id: string }) => id, sync: { sync: () => undefined } }
    return {
      code, shown: shown(),
      messages: [message(() => std.wrap(options, { name: 'todos' })), message(() => std.collection({ name: 'todos', getKey: options.getKey })), message(() => std.wrap({}, { name: 'x' })), message(() => std.wrap(options, { name: 'x', nam: 1 }))],
    }
  })
  assert.deepEqual([seen.code, seen.shown], ['failed', []])
  assert.match(seen.messages[0]!, /there is a collection "todos" already/)
  assert.match(seen.messages[1]!, /there is a collection "todos" already/)
  assert.match(seen.messages[2]!, /options for createCollection/)
  assert.match(seen.messages[3]!, /unknown option "nam"/)
})

test('a source may insert a row that is shown until it tells, and one that never tells has the last word', async () => {
  const page = await now.chrome.context.newPage()
  // What takes half a minute takes half a second here.
  await page.addInitScript(`
    const set = globalThis.setTimeout
    globalThis.setTimeout = (run, ms, ...rest) => set(run, ms === 30_000 ? 500 : ms, ...rest)
  `)
  await page.goto(now.server.url)
  await page.waitForFunction(() => 'lab' in globalThis)
  await wrapped(page, { manual: true })
  const seen = await page.evaluate(async () => {
    const { std, rows, write, shown, confirms } = (lab as any).kit
    const results: unknown[] = []
    await std.outbox.delivered(rows.insert(lab.todo('a', 'a')))
    write({ type: 'insert', value: { ...lab.todo('a', 'a'), note: 'told' } })
    results.push(shown())
    // The id is the server's: the one made here is never told of.
    confirms(() => write({ type: 'insert', value: lab.todo('42', 'made') }))
    await std.outbox.delivered(rows.insert(lab.todo('temp', 'made')))
    results.push(shown())
    confirms(() => undefined)
    await std.outbox.delivered(rows.insert(lab.todo('lost', 'lost')))
    await std.outbox.delivered(rows.update('a', (draft: any) => void (draft.title = 'lost')))
    await std.outbox.delivered(rows.delete('42'))
    results.push(shown())
    await new Promise((resolve) => setTimeout(resolve, 700))
    results.push(shown())
    return results
  })
  assert.deepEqual(seen, [['a a told'], ['42 made ', 'a a told'], ['a lost told', 'lost lost '], ['42 made ', 'a a told']])
})

test('what else a source tells while a write flies does not undo it, and what an action did on screen is not kept', async () => {
  const page = await now.chrome.tab(now.server.url)
  await wrapped(page, { manual: true })
  const seen = await page.evaluate(async () => {
    const { std, rows, write, shown, confirms } = (lab as any).kit
    write({ type: 'insert', value: lab.todo('a', 'old') }, { type: 'insert', value: lab.todo('b', 'b') })
    confirms(() => write({ type: 'update', value: { ...lab.todo('a', 'old'), note: 'theirs' } }, { type: 'update', value: lab.todo('b', 'b2') }))
    await std.outbox.delivered(rows.update('a', (draft: any) => void (draft.title = 'mine')))
    const updated = shown()
    confirms(() => write({ type: 'insert', value: lab.todo('c', 'c') }))
    await std.outbox.delivered(rows.delete('b'))
    const deleted = shown()
    const act = std.createOfflineAction({ name: 'act', onMutate: () => void rows.insert(lab.todo('guess', 'guess')), mutationFn: () => undefined })
    await act().delivered
    return { updated, deleted, end: shown() }
  })
  assert.deepEqual(seen, { updated: ['a mine theirs', 'b b2 '], deleted: ['a mine theirs', 'c c '], end: ['a mine theirs', 'c c '] })
})

test('a leader that shows a wrapped collection nowhere, or no longer, sends its writes all the same', async () => {
  const leader = await now.chrome.tab(now.server.url)
  const open = (page: Page) => page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'quiet', platform: lab.browser(), outbox: true, classify: () => 'failed' })
    const flown: string[] = []
    const rows = lab.db.createCollection(std.wrap(
      { id: 'quiet', getKey: ({ id }: { id: string }) => id, onInsert: async ({ transaction, collection }: any) => void flown.push(`${transaction.mutations[0].key} ${collection.id}`), sync: { sync: ({ markReady }: any) => markReady() } },
      { name: 'rows' },
    ))
    await std.ready
    Object.assign(lab, { opened: { std, rows, flown } })
  })
  await open(leader)
  await eventually(async () => assert.equal(await leader.evaluate(() => lab.opened.std.outbox.status().leader), true))
  const page = await now.chrome.tab(now.server.url)
  await open(page)
  const insert = (id: string) => page.evaluate((id) => lab.opened.std.outbox.delivered((lab.opened as any).rows.insert({ id })), id)
  await insert('never shown')
  await leader.evaluate(() => (lab.opened as any).rows.cleanup())
  await insert('cleaned up')
  assert.deepEqual(await leader.evaluate(() => (lab.opened as any).flown), ['never shown quiet', 'cleaned up quiet'])
})

test('the handlers of a wrapped collection with a codec get rows as the app knows them', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
      at: URL
    }
    const flown: string[] = []
    const handler = async ({ transaction }: any) => {
      const [{ original, modified, changes }] = transaction.mutations
      flown.push([original.at, modified.at, changes.at].map((at) => (at === undefined ? 'none' : at instanceof URL ? at.pathname : 'encoded')).join(' '))
    }
    const std = createStdSync({ name: 'coded', platform: lab.browser(), outbox: true })
    const rows = lab.db.createCollection(std.wrap(
      { id: 'coded', getKey: ({ id }: Row) => id, onInsert: handler, onUpdate: handler, sync: { sync: ({ markReady }: any) => markReady() } },
      { name: 'rows', codec: { encode: ({ id, at }: Row) => ({ id, at: at.href }), decode: ({ id, at }: { id: string; at: string }) => ({ id, at: new URL(at) }) } },
    ))
    await std.ready
    await std.outbox.delivered(rows.insert({ id: 'a', at: new URL('http://x/1') }))
    await std.outbox.delivered(rows.update('a', (draft) => void (draft.at = new URL('http://x/2') as never)))
    return flown
  })
  assert.deepEqual(seen, ['none /1 /1', '/1 /2 /2'])
})
