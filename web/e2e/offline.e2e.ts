import { applied, assert, Chrome, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

/** Three rows on the server, pulled into a tab. */
async function seeded() {
  for (const id of ['a', 'b', 'c']) await now.server.foreign(id, { title: id })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 500 }))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a', b: 'b', c: 'c' }))
  return page
}

test('offline edits are on screen, survive a reload, and reach the server folded, once and in order', async () => {
  const page = await seeded()
  await page.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = lab.opened
    todos.insert(lab.todo('d', 'd'))
    todos.update('d', (draft) => void (draft.title = 'd2'))
    todos.update('a', (draft) => void (draft.title = 'a2'))
    todos.update('a', (draft) => void (draft.note = 'noted'))
    todos.insert(lab.todo('e', 'never sent'))
    todos.delete('e')
    await std.outbox.stored(todos.delete('b'))
  })
  const shown = { a: 'a2', c: 'c', d: 'd2' }
  assert.deepEqual(await titles(page), shown)

  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate(() => lab.open({ pull: 500 }))
  assert.deepEqual(await titles(page), shown, 'the rows are back before any answer of the server')
  assert.equal((await entries(page)).length, 7)
  assert.deepEqual(await now.server.requests(), [])

  await page.evaluate(() => void (lab.network.off = false))
  await eventually(async () => assert.deepEqual(await entries(page), []))
  const requests = await now.server.requests()
  assert.deepEqual(applied(requests).sort(), ['DELETE /api/todos/b', 'PATCH /api/todos/a', 'POST /api/todos'])
  assert.equal(requests.length, 3, 'one request for each row, and none for the row that came and went')
  assert.deepEqual(requests.find(({ method }) => method === 'PATCH')?.body, { title: 'a2', note: 'noted' })
  assert.equal(requests.find(({ method }) => method === 'POST')?.body?.title, 'd2')
  assert.deepEqual(await titles(page), shown)
  assert.deepEqual((await now.server.todos()).map(({ id, title }) => [id, title]), Object.entries(shown))
})

test('an edit survives the death of the browser right after it is stored', async () => {
  const page = await seeded()
  await page.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = lab.opened
    todos.update('a', (draft) => void (draft.title = 'a2'))
    todos.delete('b')
    await std.outbox.stored(todos.insert(lab.todo('d', 'd')))
  })
  await now.chrome.kill()

  // The page's own switch may not have survived; the server's fault does.
  await now.server.fault({ path: '/api/todos', mode: 'hold' })
  const again = await Chrome.start(now.chrome.profile)
  try {
    const second = await again.tab(now.server.url)
    await second.evaluate(() => lab.open({}))
    assert.deepEqual(await titles(second), { a: 'a2', c: 'c', d: 'd' })
    assert.deepEqual(await now.server.requests(), [])
    await second.evaluate(() => void (lab.network.off = false))
    await now.server.heal()
    await eventually(async () => assert.deepEqual(await entries(second), []))
    assert.deepEqual(applied(await now.server.requests()).sort(), ['DELETE /api/todos/b', 'PATCH /api/todos/a', 'POST /api/todos'])
  } finally {
    await again.kill()
  }
})

test('an insert that may have arrived is sent again, and then its delete', async () => {
  await now.server.fault({ method: 'POST', mode: 'apply-and-drop', times: 1 })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(async () => {
    const { std, todos } = await lab.open({})
    await std.outbox.stored(todos!.insert(lab.todo('d', 'd')))
  })
  await eventually(async () => assert.equal((await entries(page))[0]?.attempt, 1))
  await eventually(async () => assert.equal((await entries(page))[0]?.status, 'pending'))
  await page.evaluate(async () => {
    const { std, todos } = lab.opened
    await std.outbox.delivered(todos.delete('d'))
  })
  const requests = await now.server.requests()
  assert.deepEqual(requests.map(({ method, applied }) => [method, applied]), [['POST', true], ['POST', false], ['DELETE', true]])
  assert.equal(requests[0]?.key, requests[1]?.key)
  assert.deepEqual(requests[0]?.body, requests[1]?.body)
  assert.deepEqual(await now.server.todos(), [])
})
