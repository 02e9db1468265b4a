import { assert, eventually, stage, test } from './support.js'

const now = stage()

test('a codec stores what structured clone cannot carry, over edits, a fold and a reload', async () => {
  const page = await now.chrome.tab(now.server.url)
  const open = () => page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    // A Temporal-like value: structured clone would lose its class.
    class Money {
      constructor(readonly cents: number) {}
      get text() {
        return (this.cents / 100).toFixed(2)
      }
    }
    interface Row {
      id: string
      price: Money
      note?: string
    }
    const stored = lab.z.object({ id: lab.z.string(), price: lab.z.codec(lab.z.number(), lab.z.instanceof(Money), { decode: (cents) => new Money(cents), encode: (money) => money.cents }), note: lab.z.string().optional() })
    const sent: string[] = []
    let away = false
    const std = createStdSync({ name: 'values', platform: lab.browser(), outbox: true })
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id,
      codec: { encode: (row) => lab.z.encode(stored, row as never), decode: (row) => lab.z.decode(stored, row as never) as Row },
      onInsert: ([row]) => {
        sent.push(`insert ${row!.price.text}`)
      },
      onUpdate: ({ current, updates, latest }) => {
        if (away) throw new lab.OutboxUnreachable()
        sent.push(`update ${current.price.text} ${updates.price?.text} ${'note' in updates} ${latest?.price.text}`)
        return { ...current, ...updates, price: new Money(updates.price!.cents + 1) }
      },
    })
    await std.ready
    const shown = () => [...rows.values()].map(({ price, note }) => `${price.text} ${note}`)
    return Object.assign(globalThis, { values: { std, rows, sent, shown, Money, offline: (off: boolean) => void (away = off) } }) && shown()
  })
  assert.deepEqual(await open(), [])
  const first = await page.evaluate(async () => {
    const { std, rows, sent, Money, offline } = (globalThis as any).values
    await std.outbox.delivered(rows.insert({ id: 'a', price: new Money(150), note: 'n' }))
    offline(true)
    rows.update('a', (draft: any) => void (draft.price = new Money(200)))
    await std.outbox.stored(rows.update('a', (draft: any) => delete draft.note))
    return { sent, records: await lab.records('std-sync') }
  })
  assert.deepEqual(first.sent, ['insert 1.50'])
  assert.deepEqual(first.records['entries']!.sort((a, b) => Number(a['seq']) - Number(b['seq'])).map(({ base, changes }) => [base, changes]), [
    [{ id: 'a', price: 150, note: 'n' }, { price: 200 }],
    [{ id: 'a', price: 200, note: 'n' }, { note: undefined }],
  ])
  assert.deepEqual(first.records['replica']!.map(({ row }) => row), [{ id: 'a', price: 150, note: 'n' }])

  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  assert.deepEqual(await open(), ['2.00 undefined'])
  await eventually(async () => assert.deepEqual(await page.evaluate(() => (globalThis as any).values.sent), ['update 1.50 2.00 true 1.50']))
  await eventually(async () => assert.deepEqual(await page.evaluate(() => (globalThis as any).values.shown()), ['2.01 undefined'], 'what the callback returned is stored and shown'))
})

test('a codec that does not fit refuses the write, and keeps what is stored', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
      n: bigint
    }
    const open = (codec: { encode(row: Row): object; decode(stored: any): Row }) => {
      const events: string[] = []
      const std = createStdSync({ name: 'values', platform: lab.browser(), outbox: true, onEvent: ({ type, error }) => void (error && events.push(`${type}: ${error.message}`)) })
      const rows = std.collection<Row, string>({ name: 'rows', getKey: ({ id }) => id, codec, onInsert: () => undefined, onUpdate: () => { throw new lab.OutboxUnreachable() } })
      return { std, rows, events }
    }
    const good = { encode: ({ id, n }: Row) => ({ id, n: String(n) }), decode: ({ id, n }: { id: string; n: string }) => ({ id, n: BigInt(n) }) }
    const outcome = (promise: Promise<unknown>) => promise.then(() => 'done', (error: { code: string; message: string }) => `${error.code}: ${error.message}`)
    const one = open({ ...good, encode: (row: Row) => { if (row.n < 0) throw new Error('negative'); return row.n > 99 ? { id: row.id } : good.encode(row) } })
    await one.std.ready
    const refused = await outcome(one.std.outbox.delivered(one.rows.insert({ id: 'x', n: -1n })))
    await one.std.outbox.delivered(one.rows.insert({ id: 'a', n: 1n }))
    const dropped = await outcome(one.std.outbox.stored(one.rows.update('a', (draft) => void (draft.n = 100n))))
    await one.std.outbox.stored(one.rows.update('a', (draft) => void (draft.n = 2n)))
    await one.std.dispose()
    const two = open({ ...good, decode: () => { throw new Error('of another time') } })
    await two.std.ready
    const shown = two.rows.size
    await two.std.dispose()
    const three = open(good)
    await three.std.ready
    return { refused, dropped, shown, events: two.events, back: [...three.rows.values()].map(({ n }) => n) }
  })
  assert.equal(seen.refused, 'not-storable: rows: codec.encode throws (Error: negative)')
  assert.match(seen.dropped, /^not-storable: rows: what codec.encode returns has no field "n"/)
  assert.equal(seen.shown, 0)
  assert.ok(seen.events.some((event) => event.startsWith('storage: rows: codec.decode throws')), seen.events.join())
  assert.ok(seen.events.some((event) => event.startsWith('replay-skipped: rows: codec.decode throws')), seen.events.join())
  assert.deepEqual(seen.back, [2n])
})

test('a single collection has one row, which is updated, folded and kept', async () => {
  const page = await now.chrome.tab(now.server.url)
  const open = () => page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    interface Settings {
      theme: string
      size: number
    }
    const flown: unknown[] = []
    let away = true
    const std = createStdSync({ name: 'values', platform: lab.browser(), outbox: true })
    const settings = std.collection<Settings, string>({
      name: 'settings', single: true,
      onUpdate: ({ current, updates }) => {
        if (away) throw new lab.OutboxUnreachable()
        flown.push([current, updates])
      },
      sync: lab.syncStrategy.pull<Settings>({ every: 60_000, fetch: async ({ cursor }) => ({ rows: cursor ? [] : [{ theme: 'light', size: 1 }], cursor: 1 }) }),
    })
    await std.ready
    while (settings.size === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    return Object.assign(globalThis, { single: { std, settings, flown, online: () => { away = false; std.outbox.drain() } } }) && [...settings.entries()].map(([key, { theme, size }]) => [key, theme, size])
  })
  assert.deepEqual(await open(), [['settings', 'light', 1]])
  const refused = await page.evaluate(async () => {
    const { std, settings } = (globalThis as any).single
    await new Promise((resolve) => setTimeout(resolve))
    settings.update('settings', (draft: any) => void (draft.theme = 'dark'))
    await std.outbox.stored(settings.update('settings', (draft: any) => void (draft.size = 2)))
    const failure = (run: () => unknown) => {
      try {
        run()
      } catch (error) {
        return (error as Error).message
      }
      return 'accepted'
    }
    return [
      failure(() => std.collection({ name: 'other', single: true, onInsert: () => undefined })),
      await Promise.resolve().then(() => std.outbox.stored(std.inOrder(() => settings.insert({ theme: 'x', size: 0 })))).then(() => 'accepted', (error: Error) => error.message),
    ]
  })
  assert.match(refused[0]!, /single.*leave out onInsert/)
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  assert.deepEqual(await open(), [['settings', 'dark', 2]])
  await page.evaluate(() => (globalThis as any).single.online())
  await eventually(async () => assert.deepEqual(await page.evaluate(() => (globalThis as any).single.flown), [[{ theme: 'light', size: 1 }, { theme: 'dark', size: 2 }]]))
})

test('a write that nobody could send is refused when it is made', async () => {
  const page = await now.chrome.tab(now.server.url)
  const messages = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
    }
    const std = createStdSync({ name: 'values', platform: lab.memory(), outbox: true })
    const mute = std.collection<Row, string>({ name: 'mute', getKey: ({ id }) => id, onUpdate: () => undefined })
    const out = std.collection<Row, string>({ name: 'out', getKey: ({ id }) => id, onInsert: () => undefined, outbox: false })
    const rows = std.collection<Row, string>({ name: 'rows', getKey: ({ id }) => id, onInsert: () => undefined })
    const foreign = lab.db.createCollection<Row, string>({ id: 'foreign', getKey: ({ id }) => id, sync: { sync: ({ markReady }) => markReady() } })
    await std.ready
    const outcome = (...of: { insert(row: Row): unknown }[]) => {
      const transaction = lab.db.createTransaction({ autoCommit: false, mutationFn: std.mutationFn as never })
      transaction.mutate(() => of.forEach((collection) => collection.insert({ id: 'a' })))
      return transaction.commit().then(() => 'delivered', (error: Error) => error.message)
    }
    return [await outcome(mute), await outcome(rows, out), await outcome(foreign), await outcome(out)]
  })
  assert.equal(messages[0], '"mute" has no onInsert: there is nobody to send this insert')
  assert.match(messages[1]!, /"rows" has an Outbox and another collection of this transaction has none/)
  assert.match(messages[2]!, /"foreign" does not belong to this Std Sync/)
  assert.equal(messages[3], 'delivered')
})

test('without an outbox each write of a transaction is sent under a key of its own', async () => {
  const page = await now.chrome.tab(now.server.url)
  const keys = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'values', platform: lab.memory() })
    const keys: string[] = []
    const note = (_: unknown, { idempotencyKey }: { idempotencyKey: string }) => void keys.push(idempotencyKey)
    const rows = std.collection<{ id: string; n: number }, string>({ name: 'rows', getKey: ({ id }) => id, onInsert: note, onUpdate: note, onDelete: note })
    await std.ready
    await rows.insert([{ id: 'a', n: 0 }, { id: 'b', n: 0 }]).isPersisted.promise
    await rows.update(['a', 'b'], (drafts) => drafts.forEach((draft) => void (draft.n = 1))).isPersisted.promise
    await rows.delete(['a', 'b']).isPersisted.promise
    return keys
  })
  assert.equal(keys.length, 5)
  assert.equal(new Set(keys).size, 5)
})

test('what the Outbox itself has to wait for is not for classify to give up', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const open = (decode: (row: any) => any) => {
      const std = createStdSync({ name: 'values', platform: lab.browser(), outbox: true, classify: (error) => (error instanceof TypeError ? 'unreachable' : 'failed') })
      const rows = std.collection<{ id: string }, string>({ name: 'rows', getKey: ({ id }) => id, codec: { encode: (row) => row, decode }, onInsert: () => undefined })
      return { std, rows }
    }
    const bad = open(() => { throw new Error('of another time') })
    await bad.std.ready
    await bad.std.outbox.stored(bad.rows.insert({ id: 'a' }))
    while (bad.std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 5))
    const { pending, failed } = bad.std.outbox.status()
    await bad.std.dispose()
    const good = open((row) => row)
    await good.std.ready
    while (good.std.outbox.status().pending + good.std.outbox.status().inRequest > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    return { pending, failed, rows: good.rows.size }
  })
  assert.deepEqual(seen, { pending: 1, failed: 0, rows: 1 })
})
