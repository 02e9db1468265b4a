import type { Page } from 'playwright-core'
import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

async function crashable(): Promise<Page> {
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ wasm: 'crashable.wasm' }))
  return page
}

const types = (page: Page) => page.evaluate(() => lab.events.map(({ type }) => type))

test('when the module dies, what waits rejects, nothing resolves, and a fresh one goes on with what was stored', async () => {
  const page = await crashable()
  const outcome = await page.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = lab.opened
    const code = (promise: Promise<unknown>) => promise.then(() => 'resolved', (error: { code: string }) => error.code)
    const stored = todos.insert(lab.todo('a', 'a'))
    await std.outbox.stored(stored)
    const unstored = todos.insert(lab.todo('b', 'b'))
    const waits = [code(std.outbox.delivered(stored)), code(std.outbox.delivered(unstored)), code(std.outbox.stored(unstored)), code(stored.isPersisted.promise)]
    dispatchEvent(new Event('outbox-crash'))
    waits.push(code(std.outbox.pause()))
    let status
    try {
      std.outbox.status()
    } catch (error) {
      status = (error as { code: string }).code
    }
    const later = todos.insert(lab.todo('c', 'c'))
    const meanwhile = await code(std.outbox.stored(later))
    return { codes: await Promise.all(waits), status, meanwhile }
  })
  assert.deepEqual(outcome.codes, ['crashed', 'crashed', 'crashed', 'crashed', 'crashed'])
  assert.equal(outcome.meanwhile, 'resolved', 'what is written before the fresh one serves is stored by it')
  assert.equal(outcome.status, 'crashed')
  await eventually(async () => assert.deepEqual((await types(page)).filter((type) => type === 'crashed' || type === 'restarted'), ['crashed', 'restarted']))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a', c: 'c' }), 3_000)
  await eventually(async () => assert.deepEqual((await entries(page)).map(({ key }) => key), ['a', 'c']))
  await page.evaluate(() => void (lab.network.off = false))
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos', 'POST /api/todos'])
  assert.deepEqual(await titles(page), { a: 'a', c: 'c' })
})

test('a fresh module is the old one in everything: reads, live entries, status, actions and a second edit', async () => {
  const page = await crashable()
  const seen = await page.evaluate(async () => {
    const { std, todos } = lab.opened
    const told: number[] = []
    std.outbox.subscribe(({ pending }) => told.push(pending))
    await std.outbox.entity.preload()
    const call = lab.finishAll()
    await std.outbox.delivered(todos.insert([lab.todo('a', 'a'), lab.todo('z', 'z')]))
    dispatchEvent(new Event('outbox-crash'))
    while (!lab.events.some(({ type }) => type === 'restarted')) await new Promise((resolve) => setTimeout(resolve, 5))
    lab.network.off = true
    const edit = todos.update('a', (draft) => void (draft.title = 'a2'))
    await std.outbox.stored(edit)
    await std.outbox.stored(call({ ids: ['z'] }))
    const shown = lab.rows(todos).map(({ id, title, done }) => [id, title, done])
    while (std.outbox.entity.size < 2 || !told.includes(2)) await new Promise((resolve) => setTimeout(resolve, 5))
    lab.network.off = false
    await std.outbox.delivered(edit)
    while (std.outbox.entity.size > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await std.outbox.delivered(todos.insert(lab.todo('b', 'b')))
    return { shown, ids: lab.rows(todos).map(({ id }) => id) }
  })
  assert.deepEqual(seen, { shown: [['a', 'a2', false], ['z', 'z', true]], ids: ['a', 'b', 'z'] })
})

test('a request in the air when the module dies is aborted, its late answer is nobody\'s, and it is repeated under its key', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold' })
  const page = await crashable()
  await page.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a'))))
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await page.evaluate(() => void dispatchEvent(new Event('outbox-crash')))
  await eventually(async () => assert.deepEqual((await now.server.requests()).map(({ status }) => status).length, 1))
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await entries(page), []))
  const requests = await now.server.requests()
  assert.equal(new Set(requests.map(({ key }) => key)).size, 1)
  assert.deepEqual(applied(requests), ['POST /api/todos'])
})

test('a module that dies again and again stays dead, loadOutbox starts a fresh one, and a reload replays', async () => {
  const page = await crashable()
  const codes = await page.evaluate(async () => {
    lab.network.off = true
    await lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a')))
    const count = (type: string) => lab.events.filter((event) => event.type === type).length
    for (let n = 1; n <= 3; n++) {
      dispatchEvent(new Event('outbox-crash'))
      while (n < 3 && count('restarted') < n) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const code = (promise: Promise<unknown>) => promise.then(() => 'resolved', (error: { code: string }) => error.code)
    const dead = await code(lab.opened.std.outbox.pause())
    await lab.opened.std.dispose()
    const fresh = await lab.open({ wasm: 'crashable.wasm' })
    return [count('restarted'), dead, lab.rows(fresh.todos!).map(({ id }) => id).join()]
  })
  assert.deepEqual(codes, [2, 'crashed', 'a'])
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate(async () => {
    lab.network.off = false
    await lab.open({})
  })
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']))
})

test('after a crash a new Std Sync of the name may be made, and takes over', async () => {
  const page = await crashable()
  const seen = await page.evaluate(async () => {
    lab.network.off = true
    const first = lab.opened
    await first.std.outbox.stored(first.todos.insert(lab.todo('a', 'a')))
    const twice = await lab.open({ wasm: 'crashable.wasm' }).then(() => 'made', (error: { code: string }) => error.code)
    dispatchEvent(new Event('outbox-crash'))
    const second = await lab.open({ wasm: 'crashable.wasm' })
    lab.network.off = false
    while (second.std.outbox.status().pending + second.std.outbox.status().inRequest > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    return [twice, lab.rows(second.todos!).map(({ id }) => id)]
  })
  assert.deepEqual(seen, ['invalid', ['a']])
  assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos'])
})

test('a module that runs out of memory rejects what waits, and a fresh one goes on', async () => {
  const page = await crashable()
  const code = await page.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = lab.opened
    const edit = todos.insert(lab.todo('a', 'a'))
    await std.outbox.stored(edit)
    const code = std.outbox.delivered(edit).then(() => 'resolved', (error: { code: string }) => error.code)
    dispatchEvent(new Event('outbox-exhaust'))
    return code
  })
  assert.equal(code, 'crashed')
  await eventually(async () => assert.ok((await types(page)).includes('restarted')))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }))
})

test('a dead module leaves nothing open: its database can be deleted', async () => {
  const page = await crashable()
  const deleted = await page.evaluate(async () => {
    const count = (type: string) => lab.events.filter((event) => event.type === type).length
    for (let n = 1; n <= 3; n++) {
      dispatchEvent(new Event('outbox-crash'))
      while (n < 3 && count('restarted') < n) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return new Promise<string>((resolve) => {
      const request = indexedDB.deleteDatabase('std-sync')
      request.onsuccess = () => resolve('deleted')
      setTimeout(() => resolve('still blocked'), 5_000)
    })
  })
  assert.equal(deleted, 'deleted')
})

test('a live tab takes over from one whose module died', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold' })
  const one = await now.chrome.tab(now.server.url)
  await one.evaluate(async () => {
    const { std, todos } = await lab.open({ wasm: 'crashable.wasm' })
    await std.outbox.stored(todos!.insert(lab.todo('a', 'a')))
  })
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  const two = await now.chrome.tab(now.server.url)
  await two.evaluate(() => lab.open({}))
  await one.evaluate(() => void dispatchEvent(new Event('outbox-crash')))
  await eventually(async () => assert.equal(await two.evaluate(() => lab.opened.std.outbox.status().leader), true))
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await entries(two), []))
  assert.equal(new Set((await now.server.requests()).map(({ key }) => key)).size, 1)
  assert.equal(applied(await now.server.requests()).length, 1)
})

test('between death and restart: a dispose ends what was kept, and what is made then works afterwards', async () => {
  const page = await crashable()
  const seen = await page.evaluate(async () => {
    const outcome = (promise: Promise<unknown>) => promise.then(() => 'resolved', (error: { code: string }) => error.code)
    const { createStdSync } = await lab.load('crashable.wasm')
    const other = createStdSync({ name: 'other', platform: lab.browser(), outbox: true })
    await other.ready
    const { std, todos } = lab.opened
    dispatchEvent(new Event('outbox-crash'))
    const kept = todos.insert(lab.todo('a', 'a'))
    const waits = [outcome(std.outbox.stored(kept)), outcome(std.outbox.delivered(kept))]
    await std.dispose()
    // Another Std Sync lives on: a Collection of it that is made and subscribed to now.
    const wrapped = lab.db.createCollection(other.wrap({ id: 'w', getKey: ({ id }: { id: string }) => id, onInsert: async () => undefined, sync: { sync: ({ markReady }: any) => markReady() } }, { name: 'wrapped' }))
    const late = other.collection<{ id: string }, string>({ name: 'late', getKey: ({ id }) => id, onInsert: () => undefined })
    const entity = other.outbox.entity
    entity.preload().catch(() => undefined)
    late.preload().catch(() => undefined)
    await lab.load('crashable.wasm')
    const writes = [wrapped.insert({ id: 'x' }), late.insert({ id: 'y' })]
    const delivered = await Promise.all(writes.map((write) => outcome(other.outbox.delivered(write as never))))
    await entity.preload()
    return { kept: await Promise.all(waits), delivered, status: [wrapped.status, late.status, entity.status] }
  })
  assert.deepEqual(seen, { kept: ['disposed', 'disposed'], delivered: ['resolved', 'resolved'], status: ['ready', 'ready', 'ready'] })
})
