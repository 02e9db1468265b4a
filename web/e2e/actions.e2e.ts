import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

test('an action is shown at once, stored as one call, and sent once after a reload', async () => {
  for (const id of ['a', 'b']) await now.server.foreign(id, { title: id })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 200 }))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a', b: 'b' }))
  await page.evaluate(async () => {
    lab.network.off = true
    const call = lab.finishAll()({ ids: ['a', 'b'] })
    await lab.opened.std.outbox.stored(call)
  })
  const done = () => page.evaluate(() => lab.rows(lab.opened.todos).map((row) => row.done))
  assert.deepEqual(await done(), [true, true])
  assert.deepEqual((await entries(page)).map(({ op }) => op), ['action'])

  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate(() => lab.open({ boot: () => void lab.finishAll() }))
  assert.deepEqual(await done(), [true, true], 'the call is replayed at the gate')
  await page.evaluate(() => void (lab.network.off = false))
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.deepEqual(applied(await now.server.requests()), ['PATCH /api/todos/a', 'PATCH /api/todos/b'])
  assert.deepEqual((await now.server.todos()).map((row) => row.done), [true, true])
})

test('a call that writes nothing on screen is stored all the same, and delivered settles', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { std } = await lab.open({})
    const sent: unknown[] = []
    const ping = std.createOfflineAction<{ n: number }>({
      name: 'ping',
      onMutate: () => undefined,
      mutationFn: ({ n }, { idempotencyKey, attempt }) => {
        sent.push([n, typeof idempotencyKey, attempt])
        if (n === 2) throw new Error('no two')
      },
    })
    const codes = await Promise.all([1, 2, 3].map((n) => ping({ n }).delivered.then(() => 'delivered', (error: { code: string }) => error.code)))
    return { sent, codes }
  })
  assert.deepEqual(seen.sent, [[1, 'string', 1], [2, 'string', 1], [3, 'string', 1]], 'one at a time, in order, and a refusal does not stop the queue')
  assert.deepEqual(seen.codes, ['delivered', 'failed', 'delivered'])
})

test('a call of an action that is not there waits, and is replayed and sent when it is created', async () => {
  await now.server.foreign('a', { title: 'a' })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 200 }))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }))
  await page.evaluate(async () => {
    lab.network.off = true
    await lab.opened.std.outbox.stored(lab.finishAll()({ ids: ['a'] }))
  })
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate(async () => {
    lab.network.off = false
    await lab.open({})
  })
  await eventually(async () => assert.equal(await page.evaluate(() => lab.opened.std.outbox.status().waitingFor), 'handler:action:finish-all'))
  await now.server.fault({ mode: 'hold', path: '/api/todos' })
  await page.evaluate(() => void lab.finishAll())
  await eventually(async () => assert.deepEqual(await page.evaluate(() => lab.rows(lab.opened.todos).map(({ done }) => done)), [true]))
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await entries(page), []))
})

test('a wrong payload, an asynchronous onMutate and a second action of a name are refused', async () => {
  const page = await now.chrome.tab(now.server.url)
  const messages = await page.evaluate(async () => {
    const { std } = await lab.open({})
    const caught: string[] = []
    const attempt = (run: () => unknown) => {
      try {
        run()
        caught.push('nothing')
      } catch (error) {
        caught.push((error as Error).message)
      }
    }
    const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => (typeof (value as { n?: unknown }).n === 'number' ? { value } : { issues: [{ message: 'not a number', path: ['n'] }] }) } } as const
    const act = std.createOfflineAction<{ n: number }>({ name: 'act', payload: schema as never, onMutate: () => undefined, mutationFn: () => undefined })
    attempt(() => act({ n: 'x' } as never))
    attempt(() => std.createOfflineAction({ name: 'act', onMutate: () => undefined, mutationFn: () => undefined }))
    const later = lab.createOfflineAction<void>(std, { name: 'later', onMutate: async () => undefined, mutationFn: () => undefined })
    attempt(() => later())
    return { caught, stored: (await lab.records('std-sync'))['entries'] }
  })
  assert.match(messages.caught[0]!, /"act": the payload's field "n" is wrong: not a number/)
  assert.match(messages.caught[1]!, /action:act is registered already/)
  assert.notEqual(messages.caught[2], 'nothing')
  assert.deepEqual(messages.stored, [])
})
