import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

test('a logout drops everything in every tab, and the same collections go on', async () => {
  await now.server.foreign('a', { title: 'a' })
  const one = await now.chrome.tab(now.server.url)
  const two = await now.chrome.tab(now.server.url)
  for (const page of [one, two]) await page.evaluate(() => lab.open({ pull: 100 }))
  for (const page of [one, two]) await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }))
  await now.server.fault({ path: '/api/todos', mode: 'fail' })
  const outcome = two.evaluate(async () => {
    const { std, todos } = lab.opened
    const edit = todos.update('a', (draft) => void (draft.title = 'unsent'))
    return std.outbox.delivered(edit).then(() => 'delivered', (error: { code: string }) => error.code)
  })
  await eventually(async () => assert.equal((await entries(one)).length, 1))
  const refused = await one.evaluate(() => lab.opened.std.reset({ unsent: 'refuse' }).then(() => 'done', (error: { code: string }) => error.code))
  assert.equal(refused, 'unsent')
  await now.server.fault({ path: '/api/changes', mode: 'hold' })
  assert.deepEqual(await one.evaluate(() => lab.opened.std.reset()), { dropped: 1 })
  assert.equal(await outcome, 'reset')
  for (const page of [one, two]) {
    await eventually(async () => assert.deepEqual(await titles(page), {}))
    await eventually(async () => assert.deepEqual(await entries(page), []))
  }
  await now.server.heal()
  for (const page of [one, two]) await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }))
  await two.evaluate(async () => {
    const { std, todos } = lab.opened
    await std.outbox.delivered(todos.insert(lab.todo('b', 'b')))
  })
  for (const page of [one, two]) await eventually(async () => assert.deepEqual(await titles(page), { a: 'a', b: 'b' }))
  assert.equal(applied(await now.server.requests()).filter((line) => line.startsWith('POST')).length, 1)
})

test('a request in the air at a logout is aborted, and the next user sees nothing of it', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold' })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(async () => {
    const { std, todos } = await lab.open({})
    await std.outbox.stored(todos!.insert(lab.todo('a', 'theirs')))
  })
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await page.evaluate(() => lab.opened.std.reset())
  await eventually(async () => assert.deepEqual((await now.server.requests()).map(({ status }) => status), [0]), 5_000)
  await now.server.heal()
  assert.deepEqual(await titles(page), {})
  assert.deepEqual(await entries(page), [])
  const { replica } = await page.evaluate(() => lab.records('std-sync'))
  assert.deepEqual(replica, [])
})

test('a new version drops what is stored and says how much, and the older tab is superseded', async () => {
  const old = await now.chrome.tab(now.server.url)
  await old.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = await lab.open({ version: 1 })
    await std.outbox.stored(todos!.insert(lab.todo('a', 'a')))
  })
  const newer = await now.chrome.tab(now.server.url)
  await newer.evaluate(() => lab.open({ version: 2 }))
  const dropped = await newer.evaluate(() => lab.events.find(({ type }) => type === 'version-dropped')?.count)
  assert.equal(dropped, 1)
  await eventually(async () => assert.ok(await old.evaluate(() => lab.events.some(({ type }) => type === 'superseded'))))
  const code = await old.evaluate(() => lab.opened.std.outbox.delivered(lab.opened.todos.insert(lab.todo('b', 'b'))).then(() => 'delivered', (error: { code: string }) => error.code))
  assert.equal(code, 'superseded')
  await eventually(async () => assert.equal(await newer.evaluate(() => lab.opened.std.outbox.status().leader), true))
})

test('a migration keeps entries over a version, renamed and changed', async () => {
  const old = await now.chrome.tab(now.server.url)
  await old.evaluate(async () => {
    lab.network.off = true
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'e2e', platform: lab.browser({ connectivity: lab.connectivity }), outbox: true, version: 1 })
    const tasks = std.collection<{ id: string; text: string }, string>({ name: 'tasks', getKey: ({ id }) => id, onInsert: () => undefined })
    tasks.insert({ id: 'a', text: 'kept' })
    await std.outbox.stored(tasks.insert({ id: 'b', text: 'dropped' }))
  })
  await old.close()
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const seen: unknown[] = []
    await lab.open({
      version: 2,
      migrate: (entry, from) => {
        seen.push([from, entry.name, entry.key])
        const { id, text } = entry.changes as { id: string; text: string }
        return text === 'kept' ? { ...entry, name: 'collection:todos', changes: lab.todo(id, text) } : null
      },
    })
    return seen
  })
  assert.deepEqual(seen, [[1, 'collection:tasks', 'a'], [1, 'collection:tasks', 'b']])
  assert.deepEqual(await titles(page), { a: 'kept' })
  await page.evaluate(() => void (lab.network.off = false))
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']))
})
