import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

test('what the server refuses is rolled back and kept, until it is discarded', async () => {
  const page = await now.chrome.tab(now.server.url)
  const error = await page.evaluate(async () => {
    const { std, todos } = await lab.open({})
    return std.outbox.delivered(todos!.insert(lab.todo('a', ' '))).then(
      () => undefined,
      (error: { name: string; code: string; entryId: string; message: string; cause: unknown }) => ({ ...error, name: error.name, message: error.message, cause: String(error.cause) }),
    )
  })
  assert.equal(error?.name, 'OutboxError')
  assert.equal(error?.code, 'failed')
  assert.match(String(error?.cause), /Refused: title must/)
  assert.deepEqual(await titles(page), {})
  const [entry] = await entries(page)
  assert.equal(entry?.status, 'failed')
  assert.equal(entry?.id, error?.entryId)
  assert.equal(entry?.error?.name, 'Refused')

  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate(() => lab.open({}))
  assert.deepEqual(await titles(page), {}, 'a failed write is not shown again')
  assert.equal((await entries(page)).length, 1)
  await page.evaluate((id) => lab.opened.std.outbox.discard(id), entry!.id)
  await eventually(async () => assert.deepEqual(await entries(page), []))
})

test('a retry brings a failed write back on screen and sends it under a new key', async () => {
  await now.server.fault({ method: 'POST', mode: 'fail', status: 400, times: 1 })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(async () => {
    const { std, todos } = await lab.open({})
    await std.outbox.delivered(todos!.insert(lab.todo('a', 'a'))).catch(() => undefined)
  })
  assert.deepEqual(await titles(page), {})
  const [entry] = await entries(page)
  await now.server.fault({ method: 'POST', mode: 'hold' })
  await page.evaluate((id) => lab.opened.std.outbox.retry(id), entry!.id)
  assert.deepEqual(await titles(page), { a: 'a' })
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.deepEqual(await titles(page), { a: 'a' })
  const requests = await now.server.requests()
  assert.equal(new Set(requests.map(({ key }) => key)).size, 2)
  assert.deepEqual(applied(requests), ['POST /api/todos'])
})

test('a server that cannot be reached keeps the write pending, and others are not held up', async () => {
  await now.server.fault({ path: '/api/todos/bad', mode: 'drop' })
  await now.server.foreign('bad', { title: 'bad' })
  await now.server.foreign('good', { title: 'good' })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 200 }))
  await eventually(async () => assert.deepEqual(await titles(page), { bad: 'bad', good: 'good' }))
  await page.evaluate(async () => {
    const { std, todos } = lab.opened
    await std.outbox.stored(todos.update('bad', (draft) => void (draft.title = 'bad2')))
    await std.outbox.delivered(todos.update('good', (draft) => void (draft.title = 'good2')))
  })
  const [entry] = await eventually(async () => {
    const found = await entries(page)
    assert.deepEqual(found.map(({ key, status }) => [key, status]), [['bad', 'pending']])
    assert.ok((found[0]?.attempt ?? 0) >= 1)
    return found
  })
  assert.match(String(entry?.error?.message), /fetch/)
  assert.deepEqual(await titles(page), { bad: 'bad2', good: 'good2' })
  await eventually(async () => assert.equal(await page.evaluate(() => lab.opened.std.outbox.status().waitingFor), 'backoff'))
  await now.server.heal()
  await page.evaluate(() => lab.opened.std.outbox.drain())
  await eventually(async () => assert.deepEqual(await entries(page), []))
})

test('a write whose handler is not there waits, and is sent once it is registered', async () => {
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = await lab.open({})
    await std.outbox.stored(todos!.insert(lab.todo('a', 'a')))
  })
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate(async () => {
    lab.network.off = false
    await lab.open({ late: true })
  })
  await eventually(async () => assert.equal(await page.evaluate(() => lab.opened.std.outbox.status().waitingFor), 'handler:collection:todos'))
  assert.deepEqual(await now.server.requests(), [])
  await page.evaluate(async () => {
    const todos = lab.opened.collect()
    await todos.preload()
  })
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']))
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.deepEqual(await titles(page), { a: 'a' })
})

test('a dispose rejects what waits, and keeps it', async () => {
  const page = await now.chrome.tab(now.server.url)
  const code = await page.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = await lab.open({})
    const made = todos!.insert(lab.todo('a', 'a'))
    await std.outbox.stored(made)
    const outcome = std.outbox.delivered(made).then(() => 'delivered', (error: { code: string }) => error.code)
    await std.dispose()
    await std.dispose()
    return outcome
  })
  assert.equal(code, 'disposed')
  await page.evaluate(async () => {
    await lab.open({})
    lab.network.off = false
  })
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']))
})

test('options that are wrong are refused with their name', async () => {
  const page = await now.chrome.tab(now.server.url)
  const messages = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const caught: string[] = []
    const attempt = (run: () => unknown) => {
      try {
        run()
        caught.push('nothing')
      } catch (error) {
        caught.push(`${(error as { code: string }).code}: ${(error as Error).message}`)
      }
    }
    attempt(() => createStdSync({ name: 'x', plattform: 1 } as never))
    attempt(() => createStdSync({} as never))
    const std = createStdSync({ name: 'x' })
    attempt(() => createStdSync({ name: 'x' }))
    attempt(() => std.collection({ name: 'todos' } as never))
    std.collection({ name: 'todos', getKey: (row: { id: string }) => row.id })
    attempt(() => std.collection({ name: 'todos', getKey: (row: { id: string }) => row.id }))
    return caught
  })
  assert.match(messages[0]!, /^invalid: .*unknown option "plattform"/)
  assert.match(messages[1]!, /^invalid: .*"name" is missing/)
  assert.match(messages[2]!, /^invalid: .*"x" is live/)
  assert.match(messages[3]!, /^invalid: .*"getKey" is missing/)
  assert.match(messages[4]!, /^invalid: .*there is a collection "todos" already/)
})
