import { assert, stage, test } from './support.js'

const now = stage()

interface Row {
  id: string
  n: number
  note?: string
}

test('what a callback does to its arguments, or throws at us, harms nothing', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    addEventListener('error', (event) => event.preventDefault())
    const { createStdSync } = await lab.load()
    const bodies: string[] = []
    let classified = 0
    const std = createStdSync({
      name: 'robust', platform: lab.browser(), outbox: true, concurrency: 1,
      classify: (error) => {
        classified++
        return (error as { response: { status: number } }).response.status === 503 ? 'unreachable' : undefined
      },
    })
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: ([row], { attempt }) => {
        bodies.push(JSON.stringify(row))
        if (row!.id === 'thrown') throw undefined
        row!.n = -attempt
        delete row!.note
        if (attempt === 1) throw new lab.OutboxUnreachable()
        return { id: row!.id, n: 7, gone: () => undefined } as never
      },
    })
    await std.ready
    const thrown = await std.outbox.delivered(rows.insert({ id: 'thrown', n: 1 })).then(() => 'delivered', (error: { code: string }) => error.code)
    const kept = rows.insert({ id: 'kept', n: 1, note: 'mine' })
    await std.outbox.stored(kept)
    while (bodies.length < 3) {
      std.outbox.drain()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await std.outbox.delivered(kept)
    return { bodies: bodies.slice(1), classified, thrown, rows: [...rows.values()].map(({ id, n, note }) => ({ id, n, note })) }
  })
  assert.equal(seen.thrown, 'failed')
  assert.ok(seen.classified > 0)
  assert.deepEqual(new Set(seen.bodies), new Set(['{"id":"kept","n":1,"note":"mine"}']), 'the repeat carries what the first flight did')
  assert.deepEqual(seen.rows, [{ id: 'kept', n: 1, note: 'mine' }], 'an answer that cannot be kept counts as none')
})

test('a subscriber that throws keeps nobody else from the truth', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    addEventListener('error', (event) => event.preventDefault())
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'robust', platform: lab.browser(), outbox: true })
    let refuse = false
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: () => undefined,
      onUpdate: () => {
        if (refuse) throw new Error('no')
      },
    })
    await std.ready
    await std.outbox.delivered(rows.insert([{ id: 'a', n: 1 }, { id: 'b', n: 1 }]))
    rows.subscribeChanges((changes) => {
      if (changes.some(({ value }) => value.$hasPendingWrites === false)) throw new Error('a subscriber')
    })
    const outcome = (promise: Promise<unknown>) => promise.then(() => 'delivered', (error: { code: string }) => error.code)
    const good = outcome(std.outbox.delivered(rows.update('a', (draft) => void (draft.n = 2))))
    const first = await good
    refuse = true
    const second = await outcome(std.outbox.delivered(rows.update('b', (draft) => void (draft.n = 2))))
    return { first, second, rows: [...rows.values()].map(({ id, n }) => [id, n]) }
  })
  assert.deepEqual(seen, { first: 'delivered', second: 'failed', rows: [['a', 2], ['b', 1]] })
})

test('a live query shows stored and unsent rows after a reload', async () => {
  const page = await now.chrome.tab(now.server.url)
  const open = () => page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    let away = false
    const std = createStdSync({ name: 'robust', platform: lab.browser(), outbox: true })
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: () => {
        if (away) throw new lab.OutboxUnreachable()
      },
      onUpdate: () => {
        throw new lab.OutboxUnreachable()
      },
    })
    const query = lab.db.createLiveQueryCollection((q) => q.from({ row: rows as never }))
    const events: string[] = []
    rows.subscribeChanges((changes) => changes.forEach(({ type, key, value }) => events.push(`${type} ${key} ${value.n}`)))
    await query.preload()
    await std.ready
    const shown = () => (query.toArray as unknown as Row[]).map(({ id, n }) => [id, n]).sort()
    if (rows.size === 0) {
      await std.outbox.delivered(rows.insert({ id: 'stored', n: 1 }))
      away = true
      rows.update('stored', (draft) => void (draft.n = 2))
      await std.outbox.stored(rows.insert({ id: 'unsent', n: 3 }))
    }
    return { shown: shown(), events }
  })
  const before = await open()
  assert.deepEqual(before.shown, [['stored', 2], ['unsent', 3]])
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  const after = await open()
  assert.deepEqual(after.shown, before.shown)
  assert.ok(!after.events.includes('insert stored 1'), 'the old value is never shown')
})

test('a transaction of several rows is shown by what each of them came to', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'robust', platform: lab.browser(), outbox: true })
    let away = true
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: ([row]) => {
        if (row!.id === 'away' && away) throw new lab.OutboxUnreachable()
        if (row!.id === 'bad') throw new Error('no')
      },
      onUpdate: () => undefined,
    })
    await std.ready
    const shown = () => [...rows.values()].map(({ id, n }) => `${id}${n}`).sort().join(' ')
    const both = rows.insert([{ id: 'sent', n: 1 }, { id: 'away', n: 1 }])
    await std.outbox.stored(both)
    while (std.outbox.status().pending + std.outbox.status().inRequest > 1 || std.outbox.status().pending === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    await std.outbox.delivered(rows.update('sent', (draft) => void (draft.n = 2)))
    const edited = shown()
    const all = rows.insert([{ id: 'good', n: 1 }, { id: 'bad', n: 1 }, { id: 'away2', n: 1 }])
    const code = await std.outbox.delivered(all).then(() => 'delivered', (error: { code: string }) => error.code)
    await new Promise((resolve) => setTimeout(resolve, 100))
    const afterwards = shown()
    away = false
    std.outbox.drain()
    await std.outbox.delivered(both)
    return { edited, code, afterwards, end: shown() }
  })
  assert.equal(seen.edited, 'away1 sent2', 'an edit of the delivered row is not covered by the transaction it was made in')
  assert.equal(seen.code, 'failed')
  assert.equal(seen.afterwards, 'away1 away21 good1 sent2', 'the refused row is gone, and the others stay')
  assert.equal(seen.end, 'away1 away21 good1 sent2')
})

test('an edit made before the store is open is stored before the next one', async () => {
  const page = await now.chrome.tab(now.server.url)
  const order = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'robust', platform: lab.browser(), outbox: true })
    const flown: unknown[] = []
    const rows = std.collection<Row, string>({ name: 'rows', getKey: ({ id }) => id, onInsert: ([row]) => void flown.push(row!.n), onUpdate: ({ updates }) => void flown.push(updates.n) })
    const edits = [rows.insert({ id: 'a', n: 0 })]
    for (let n = 1; n < 5; n++) {
      await new Promise((resolve) => setTimeout(resolve))
      edits.push(rows.update('a', (draft) => void (draft.n = n)))
    }
    await Promise.all(edits.map((edit) => std.outbox.delivered(edit)))
    return { flown, n: rows.get('a')?.n }
  })
  assert.equal(order.n, 4)
  assert.equal(order.flown.at(-1), 4)
})

test('a row whose key is NaN is refused, and a write of the same task is stored', async () => {
  const page = await now.chrome.tab(now.server.url)
  const codes = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'robust', platform: lab.browser(), outbox: true })
    const rows = std.collection<{ id: number; f?: unknown }, number>({ name: 'rows', getKey: ({ id }) => id, onInsert: () => undefined })
    await std.ready
    const outcome = (promise: Promise<unknown>) => promise.then(() => 'done', (error: { code: string; message: string }) => `${error.code}: ${error.message}`)
    const writes = [rows.insert({ id: NaN }), rows.insert({ id: 1, f: () => undefined }), rows.insert({ id: 2 })]
    return Promise.all(writes.map((write) => outcome(std.outbox.delivered(write))))
  })
  assert.match(codes[0]!, /^invalid: .*NaN/)
  assert.match(codes[1]!, /^not-storable: rows: the field "f"/)
  assert.equal(codes[2], 'done')
})
