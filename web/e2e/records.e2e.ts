import { readFile } from 'node:fs/promises'
import { assert, eventually, stage, test } from './support.js'

const now = stage()
const testdata = async (name: string) => JSON.parse(await readFile(new URL(`../../testdata/${name}`, import.meta.url), 'utf8')) as unknown

interface FoldRow {
  name: string
  entries: string[]
  write: string
}

test('what is stored has the shape that testdata keeps', async () => {
  const golden = (await testdata('records.json')) as Record<string, Record<string, unknown>>
  const page = await now.chrome.tab(now.server.url)
  const records = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    lab.network.off = true
    const { connectivity } = lab
    const std = createStdSync({ name: 'records', platform: lab.browser({ databaseName: 'records', connectivity }), outbox: true, version: 7 })
    const todos = std.collection<{ id: string; title: string }, string>({ name: 'todos', getKey: ({ id }) => id, onInsert: () => undefined, onUpdate: () => undefined, onDelete: () => undefined })
    const insert = todos.insert({ id: 'a', title: 'one' })
    const update = todos.update('a', (draft) => void (draft.title = 'two'))
    const remove = todos.delete('a')
    await std.outbox.stored(remove)
    const read = await lab.records('records')
    const of = (id: string) => read['entries']!.find((entry) => entry['id'] === id)
    return { ids: [insert.id, update.id, remove.id], insert: of(insert.id), update: of(update.id), delete: of(remove.id), meta: read['meta']![0] }
  })
  for (const [name, of] of Object.entries(golden)) {
    const record = (records as unknown as Record<string, Record<string, unknown>>)[name]!
    const { id, transaction, enqueuedAt, epoch, generation, ...rest } = record
    assert.deepEqual(rest, of, name)
    if (name === 'meta') {
      assert.equal(typeof epoch, 'number')
      assert.match(String(generation), /^[0-9a-f-]{36}$/)
    } else {
      assert.ok(records.ids.includes(String(id)))
      assert.equal(transaction, id, 'the entry of a transaction with one mutation has its id')
      assert.ok(Math.abs(Number(enqueuedAt) - Date.now()) < 60_000)
    }
  }
})

test('a stored queue is folded in the browser as the table says', async () => {
  const rows = ((await testdata('fold.json')) as FoldRow[]).filter(({ entries }) => !entries[0]!.startsWith('action'))
  const page = await now.chrome.tab(now.server.url)
  const first = await page.evaluate(async (rows) => {
    const { createStdSync } = await lab.load()
    const config = { name: 'fold', platform: lab.browser({ databaseName: 'fold' }), outbox: true }
    const first = createStdSync(config)
    await first.ready
    await first.dispose()

    const fields = (text: string) => (text === '' ? undefined : Object.fromEntries(text.split(' ').map((part) => part.split(':'))))
    let seq = 0
    const entries = rows.flatMap((row, at) =>
      row.entries.map((text) => {
        const [op, rest] = [text.slice(0, 6), text.slice(7)]
        const [written = '', base = ''] = rest.split(' < ')
        const value = op === 'delete' ? { base: fields(written) } : { changes: fields(written), ...(base && { base: fields(base) }) }
        const id = `entry-${++seq}`
        return { id, sync: 'fold', queue: `collection:rows/n:${at}`, name: 'collection:rows', status: 'pending', seq, enqueuedAt: seq, transaction: id, op, key: at, attempt: 0, ...value }
      }),
    )
    await lab.put('fold', 'entries', entries)

    const show = (row: object | undefined) => `{${Object.entries(row ?? {}).sort().map(([name, value]) => `${name}:${String(value)}`).join(' ')}}`
    const note = (ids: readonly string[], text: string) => void (lab.noted[ids[0]!] ??= text)
    const std = createStdSync(config)
    std.collection<Record<string, string>, number>({
      name: 'rows',
      getKey: () => NaN,
      onInsert: ([row], { entryIds }) => note(entryIds, `insert ${show(row)}`),
      onUpdate: ({ current, updates }, { entryIds }) => note(entryIds, `update (${show(current)}) ${show(updates)}`),
      onDelete: ({ current }, { entryIds }) => note(entryIds, `delete (${show(current)})`),
    })
    await std.ready
    return rows.map((_, at) => entries.find(({ key }) => key === at)!.id)
  }, rows)
  await eventually(async () => assert.equal((await page.evaluate(() => lab.records('fold')))['entries']!.length, 0))
  const requests = await page.evaluate(() => lab.noted)
  rows.forEach((row, at) => assert.equal(requests[first[at]!] ?? 'nothing', row.write, row.name))
})
