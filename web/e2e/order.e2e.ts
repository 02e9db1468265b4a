import { assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

/** A page with the row "old", which a move copies to "new" and then deletes. */
async function moving() {
  await now.server.foreign('old', { title: 'meeting' })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 200 }))
  await eventually(async () => assert.deepEqual(await titles(page), { old: 'meeting' }))
  return page
}

test('a move whose create is discarded keeps the original', async () => {
  const page = await moving()
  const id = await page.evaluate(async () => {
    lab.network.off = true
    const { std, todos } = lab.opened
    const move = std.inOrder(() => {
      todos.insert(lab.todo('new', 'meeting'))
      todos.delete('old')
    })
    await std.outbox.stored(move)
    await std.outbox.discard(`${move.id}:0`)
    return move.id
  })
  await eventually(async () => assert.deepEqual(await titles(page), { old: 'meeting' }))
  const [left] = await entries(page)
  assert.deepEqual([left?.id, left?.status, left?.error?.message], [`${id}:1`, 'failed', `depends on ${id}:0`])
})

test('an app\'s own transaction is stored whole, and fails with the first of its writes that fails', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { std, todos } = await lab.open({})
    const rows = todos!
    const own = (write: () => void) => {
      const transaction = lab.db.createTransaction({ autoCommit: false, mutationFn: std.mutationFn as never })
      transaction.mutate(write)
      return transaction
    }
    const good = own(() => rows.insert([lab.todo('a', 'a'), lab.todo('b', 'b')]))
    await good.commit()
    const bad = own(() => {
      rows.insert(lab.todo('c', 'c'))
      rows.insert(lab.todo('d', ' '))
    })
    const code = await bad.commit().then(() => 'delivered', (error: { code: string }) => error.code)
    return { state: good.state, code, badState: bad.state }
  })
  assert.deepEqual(seen, { state: 'completed', code: 'failed', badState: 'failed' })
  await eventually(async () => assert.deepEqual((await now.server.todos()).map(({ id }) => id), ['a', 'b', 'c']))
  await eventually(async () => assert.deepEqual(Object.keys(await titles(page)), ['a', 'b', 'c']))
})
