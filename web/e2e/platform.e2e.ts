import { applied, assert, eventually, stage, test, titles } from './support.js'

const now = stage()

test('in memory, everything works but outlives no reload', async () => {
  const page = await now.chrome.tab(now.server.url)
  const shown = await page.evaluate(async () => {
    const { std, todos } = await lab.open({ platform: lab.memory() })
    await std.outbox.delivered(todos!.insert(lab.todo('a', 'a')))
    await std.outbox.delivered(todos!.update('a', (draft) => void (draft.title = 'a2')))
    const refused = await std.outbox.delivered(todos!.insert(lab.todo('b', ' '))).catch((error: { code: string }) => error.code)
    await std.outbox.entity.preload()
    return { rows: lab.rows(todos!).map(({ id, title }) => [id, title]), refused, failed: [...std.outbox.entity.values()].map(({ status }) => status), databases: await indexedDB.databases() }
  })
  assert.deepEqual(shown, { rows: [['a', 'a2']], refused: 'failed', failed: ['failed'], databases: [] })
  assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos', 'PATCH /api/todos/a'])
})

test('phase 2: off is TanStack, byte for byte: without an outbox, and for a collection that opts out', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
      n: number
    }
    const refuse = new Error('no')
    const callback = async () => {
      await Promise.resolve()
    }
    const std = createStdSync({ name: 'direct', platform: lab.browser() })
    const config = {
      name: 'rows', getKey: ({ id }: Row) => id, onInsert: callback, onUpdate: callback,
      onDelete: () => {
        throw refuse
      },
    }
    const ours = std.collection<Row, string>(config)
    const other = createStdSync({ name: 'other', platform: lab.browser(), outbox: true })
    const out = other.collection<Row, string>({ ...config, outbox: false })
    await Promise.all([std.ready, other.ready])
    let sync!: { begin(): void; write(message: object): void; commit(): unknown }
    const plain = lab.db.createCollection<Row, string>({
      id: 'plain', getKey: ({ id }) => id,
      sync: { rowUpdateMode: 'full', sync: (params) => ((sync = params as never), params.markReady()) },
      onInsert: async ({ transaction }) => {
        await callback()
        sync.begin()
        sync.write({ type: 'update', value: { ...transaction.mutations[0]!.modified } })
        sync.commit()
      },
      onUpdate: async ({ transaction }) => {
        await callback()
        sync.begin()
        sync.write({ type: 'update', value: { ...transaction.mutations[0]!.modified } })
        sync.commit()
      },
      onDelete: () => {
        throw refuse
      },
    })
    const play = async (rows: typeof plain) => {
      const events: unknown[] = []
      const states: string[] = []
      rows.subscribeChanges((changes) => events.push(changes.map(({ type, key, value }) => [type, key, value.n, value.$hasPendingWrites, value.$origin])))
      const watch = async (transaction: { state: string; isPersisted: { promise: Promise<unknown> } }) => {
        states.push(transaction.state)
        const error: unknown = await transaction.isPersisted.promise.then(() => undefined, (error: unknown) => error)
        states.push(transaction.state, error === refuse ? 'the error as thrown' : String(error))
      }
      await watch(rows.insert({ id: 'a', n: 1 }))
      await watch(rows.update('a', (draft) => void (draft.n = 2)))
      await watch(rows.delete('a'))
      return { events, states, rows: [...rows.values()].map(({ n }) => n) }
    }
    return { ours: await play(ours as never), out: await play(out as never), plain: await play(plain as never), stored: (await lab.records('std-sync'))['entries'] }
  })
  assert.deepEqual(seen.ours, seen.plain)
  assert.deepEqual(seen.out, seen.plain)
  assert.deepEqual(seen.ours.states, ['persisting', 'completed', 'undefined', 'persisting', 'completed', 'undefined', 'persisting', 'failed', 'the error as thrown'])
  assert.deepEqual(seen.stored, [])
})

test('confirmed rows are back after a reload before anything is fetched', async () => {
  await now.server.foreign('a', { title: 'a' })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 100 }))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }))
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await now.server.fault({ method: 'GET', path: '/api/changes', mode: 'fail' })
  await page.evaluate(() => lab.open({ pull: 100 }))
  assert.deepEqual(await titles(page), { a: 'a' })
})

test('one tab pulls for both', async () => {
  const one = await now.chrome.tab(now.server.url)
  const two = await now.chrome.tab(now.server.url)
  for (const page of [one, two]) await page.evaluate(() => lab.open({ pull: 100 }))
  await now.server.foreign('a', { title: 'a' })
  for (const page of [one, two]) await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }))
  const held = await one.evaluate(async () => (await navigator.locks.query()).held?.map(({ name }) => name))
  assert.ok(held?.includes('std-sync/e2e/pull/todos/pull/v1'))
  await one.close()
  await now.server.foreign('a', { title: 'a2' })
  await eventually(async () => assert.deepEqual(await titles(two), { a: 'a2' }))
})

test('persistent storage is asked for, and the answer is told', async () => {
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ platform: lab.browser({ persist: true }) }))
  const event = await eventually(async () => {
    const found = await page.evaluate(() => lab.events.find(({ type }) => type === 'persist'))
    assert.ok(found)
    return found
  })
  assert.equal(typeof event.granted, 'boolean')
  assert.equal(event.sync, 'e2e')
})
