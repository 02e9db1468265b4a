import { assert, eventually, stage, test } from './support.js'

const now = stage()

// A page with unsent writes of a Collection that TanStack may collect.
async function waiting(gcTime: number) {
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(async (gcTime) => {
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
      n: number
    }
    let away = false
    const flown: unknown[] = []
    const std = createStdSync({ name: 'lazy', platform: lab.browser(), outbox: true })
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id, gcTime,
      onInsert: ([row]) => {
        if (away) throw new lab.OutboxUnreachable()
        flown.push(['insert', row!.id, row!.n])
      },
      onUpdate: ({ current, updates }) => {
        if (away) throw new lab.OutboxUnreachable()
        if (updates.n === 13) throw new Error('no')
        flown.push(['update', current.id, updates.n])
      },
    })
    const subscription = rows.subscribeChanges(() => undefined)
    await std.ready
    await std.outbox.delivered(rows.insert({ id: 'old', n: 1 }))
    away = true
    const edits = [rows.update('old', (draft) => void (draft.n = 2)), rows.insert({ id: 'new', n: 3 })]
    await Promise.all(edits.map((edit) => std.outbox.stored(edit)))
    const shown = () => [...rows.values()].map(({ id, n }) => `${id}${n}`).sort().join(' ')
    const online = () => {
      away = false
      std.outbox.drain()
    }
    subscription.unsubscribe()
    Object.assign(globalThis, { lazy: { std, rows, edits, shown, online, flown } })
  }, gcTime)
  return page
}

test('a cleanup with live transactions loses no overlay', async () => {
  const page = await waiting(300_000)
  const seen = await page.evaluate(async () => {
    const { std, rows, edits, shown, online, flown } = (globalThis as any).lazy
    const before = shown()
    await rows.cleanup()
    const gone = shown()
    const events: string[] = []
    const subscription = rows.subscribeChanges((changes: any[]) => changes.forEach(({ type, key, value }) => events.push(`${type} ${key} ${value.n}`)), { includeInitialState: true })
    await rows.preload()
    const back = shown()
    const states = edits.map((edit: any) => edit.state)
    online()
    await Promise.all(edits.map((edit: any) => std.outbox.delivered(edit)))
    subscription.unsubscribe()
    return { before, gone, back, states, events, end: shown(), flown: flown.slice(1).sort() }
  })
  assert.deepEqual([seen.before, seen.gone, seen.back, seen.end], ['new3 old2', '', 'new3 old2', 'new3 old2'])
  assert.deepEqual(seen.states, ['persisting', 'persisting'])
  assert.ok(seen.events.includes('insert new 3') && seen.events.includes('insert old 2'), seen.events.join())
  assert.deepEqual(seen.flown, [['insert', 'new', 3], ['update', 'old', 2]])
})

test('what is delivered, refused and discarded while a collection is cleaned up is told, and shown when it is back', async () => {
  const page = await waiting(300_000)
  const seen = await page.evaluate(async () => {
    const { std, rows, edits, shown, online } = (globalThis as any).lazy
    const bad = rows.update('old', (draft: any) => void (draft.n = 13))
    await std.outbox.stored(bad)
    await rows.cleanup()
    online()
    const outcome = (promise: Promise<unknown>) => promise.then(() => 'delivered', (error: { code: string }) => error.code)
    const outcomes = await Promise.all([...edits, bad].map((edit) => outcome(std.outbox.delivered(edit))))
    await rows.preload()
    return { outcomes, shown: shown() }
  })
  // The update that may have arrived is repeated alone; the one behind it is refused.
  assert.deepEqual(seen, { outcomes: ['delivered', 'delivered', 'failed'], shown: 'new3 old2' })
})

test('a collection that nobody subscribes to is hydrated once, may be collected, and comes back whole', async () => {
  const page = await waiting(20)
  await eventually(async () => assert.equal(await page.evaluate(() => (globalThis as any).lazy.rows.status), 'cleaned-up'))
  const seen = await page.evaluate(async () => {
    const { std, rows, edits, shown, online } = (globalThis as any).lazy
    const query = lab.db.createLiveQueryCollection((q) => q.from({ row: rows as never }))
    await query.preload()
    const back = (query.toArray as unknown as { id: string; n: number }[]).map(({ id, n }) => `${id}${n}`).sort().join(' ')
    online()
    await Promise.all(edits.map((edit: any) => std.outbox.delivered(edit)))
    return { back, end: shown() }
  })
  assert.deepEqual(seen, { back: 'new3 old2', end: 'new3 old2' })
})

test('a write to a collected collection starts it, and is shown with what it had', async () => {
  const page = await waiting(20)
  await eventually(async () => assert.equal(await page.evaluate(() => (globalThis as any).lazy.rows.status), 'cleaned-up'))
  const seen = await page.evaluate(async () => {
    const { std, rows, edits, shown, online } = (globalThis as any).lazy
    const edit = rows.insert({ id: 'late', n: 4 })
    await std.outbox.stored(edit)
    await rows.preload()
    const back = shown()
    online()
    await Promise.all([...edits, edit].map((edit: any) => std.outbox.delivered(edit)))
    return { back, end: shown() }
  })
  assert.deepEqual(seen, { back: 'late4 new3 old2', end: 'late4 new3 old2' })
})
