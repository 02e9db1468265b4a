import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

test('a second tab sees the same entries, and its own write is delivered by the leader', async () => {
  const one = await now.chrome.tab(now.server.url)
  await one.evaluate(() => lab.open({}))
  await eventually(async () => assert.equal(await one.evaluate(() => lab.opened.std.outbox.status().leader), true))
  const two = await now.chrome.tab(now.server.url)
  await two.evaluate(() => lab.open({}))

  await now.server.fault({ path: '/api/todos', mode: 'fail' })
  await one.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'from one'))))
  const id = await two.evaluate(async () => {
    const { std, todos } = lab.opened
    const made = todos.insert(lab.todo('b', 'from two'))
    await std.outbox.stored(made)
    return made.id
  })
  for (const page of [one, two]) {
    await eventually(async () => assert.deepEqual((await entries(page)).map(({ key }) => key), ['a', 'b']))
  }
  assert.equal(await two.evaluate(() => lab.opened.std.outbox.status().leader), false)

  await now.server.heal()
  await two.evaluate(() => lab.opened.std.outbox.drain())
  await two.evaluate((made) => lab.opened.std.outbox.delivered(lab.opened.std.outbox.transaction(made)!), id).catch(() => undefined)
  for (const page of [one, two]) await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos', 'POST /api/todos'])
  for (const page of [one, two]) await eventually(async () => assert.deepEqual(await titles(page), { a: 'from one', b: 'from two' }))
  assert.equal(await two.evaluate(() => lab.events.some(({ type }) => type === 'flown')), false)
})

test('when the leader closes, the other tab delivers what it left', async () => {
  await now.server.fault({ path: '/api/todos', mode: 'fail' })
  const one = await now.chrome.tab(now.server.url)
  await one.evaluate(() => lab.open({}))
  const two = await now.chrome.tab(now.server.url)
  await two.evaluate(() => lab.open({}))
  await one.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a'))))
  await eventually(async () => assert.equal((await entries(two)).length, 1))
  await now.server.heal()
  await one.close()
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']), 5_000)
  await eventually(async () => assert.deepEqual(await titles(two), { a: 'a' }))
  assert.deepEqual(await entries(two), [])
})

test('when the leader crashes in the middle of a request, the other tab repeats it under the same key', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold' })
  const one = await now.chrome.tab(now.server.url)
  await one.evaluate(() => lab.open({}))
  await one.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a'))))
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  const two = await now.chrome.tab(now.server.url)
  await two.evaluate(() => lab.open({}))
  const session = await now.chrome.context.newCDPSession(one)
  void session.send('Page.crash').catch(() => undefined)
  await eventually(async () => assert.equal((await now.server.requests()).length, 1))
  await now.server.heal()
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']))
  const keys = new Set((await now.server.requests()).map(({ key }) => key))
  assert.equal(keys.size, 1)
  await eventually(async () => assert.deepEqual(await entries(two), []))
})

test('a discard in one tab rejects the promise in the other', async () => {
  const one = await now.chrome.tab(now.server.url)
  const two = await now.chrome.tab(now.server.url)
  await one.evaluate(async () => {
    lab.network.off = true
    await lab.open({})
  })
  await two.evaluate(() => lab.open({}))
  const outcome = one.evaluate(async () => {
    const { std, todos } = lab.opened
    const made = todos.insert(lab.todo('a', 'a'))
    return std.outbox.delivered(made).then(() => 'delivered', (error: { code: string }) => error.code)
  })
  const [entry] = await eventually(async () => {
    const found = await entries(two)
    assert.equal(found.length, 1)
    return found
  })
  await two.evaluate((id) => lab.opened.std.outbox.discard(id), entry!.id)
  assert.equal(await outcome, 'discarded')
  assert.deepEqual(await titles(one), {})
})

test('remote changes to other rows and to other fields of an edited row show while the edit waits', async () => {
  await now.server.foreign('a', { title: 'a', note: 'old' })
  await now.server.foreign('b', { title: 'b' })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 100 }))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a', b: 'b' }))
  await now.server.fault({ path: '/api/todos', mode: 'fail' })
  await page.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.update('a', (draft) => void (draft.title = 'mine'))))
  await now.server.foreign('a', { note: 'new' })
  await now.server.foreign('b', { title: 'b2' })
  await eventually(async () => {
    const rows = await page.evaluate(() => lab.rows(lab.opened.todos).map(({ id, title, note }) => [id, title, note]))
    assert.deepEqual(rows, [['a', 'mine', 'new'], ['b', 'b2', '']])
  })
})
