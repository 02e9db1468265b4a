// The tests that the two source documents ask for, by the names they give them.
import type { Page } from 'playwright-core'
import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

const tab = () => now.chrome.tab(now.server.url)

async function reload(page: Page) {
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
}

// Phase 1: the Outbox's core, on the Memory store.

test('phase 1: a Queue is FIFO, and never has two Requests in the air', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const { std, rows, flown, air, say, set, until } = await lab.scripted()
    await std.ready
    say('a', 'hold')
    const edits = [rows.insert({ id: 'a', n: 0 })]
    await until(() => flown.length === 1)
    for (const n of [1, 2, 3]) edits.push(set('a', n))
    await Promise.all(edits.map((edit) => std.outbox.stored(edit)))
    const while_ = [...flown]
    say('a')
    await Promise.all(edits.map((edit) => std.outbox.delivered(edit)))
    return { while_, flown, most: air.most }
  })
  assert.deepEqual(seen.while_, ['insert a 0'])
  assert.deepEqual(seen.flown, ['insert a 0', 'update a 3'], 'Entries that arrive during a Request fold into the next group')
  assert.equal(seen.most, 1)
})

test('phase 1: Queues run in parallel, up to the concurrency', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const { std, rows, flown, air, say, until } = await lab.scripted({ concurrency: 3 })
    await std.ready
    const ids = ['a', 'b', 'c', 'd']
    for (const id of ids) say(id, 'hold')
    const edits = ids.map((id, n) => rows.insert({ id, n }))
    await until(() => flown.length === 3)
    say('b')
    await std.outbox.delivered(edits[1]!)
    await until(() => flown.length === 4)
    ids.forEach((id) => say(id))
    await Promise.all(edits.map((edit) => std.outbox.delivered(edit)))
    return { flown, most: air.most }
  })
  assert.deepEqual(seen, { flown: ['insert a 0', 'insert b 1', 'insert c 2', 'insert d 3'], most: 3 })
})

test('phase 1: a duplicate trigger finds nothing', async () => {
  const page = await tab()
  const flown = await page.evaluate(async () => {
    const { std, rows, flown, say, until } = await lab.scripted()
    await std.ready
    say('a', 'hold')
    const edit = rows.insert({ id: 'a', n: 1 })
    await until(() => flown.length === 1)
    for (let n = 0; n < 20; n++) {
      std.outbox.drain()
      await new Promise((resolve) => setTimeout(resolve))
    }
    say('a')
    await std.outbox.delivered(edit)
    std.outbox.drain()
    await std.outbox.delivered(rows.insert({ id: 'b', n: 2 }))
    return flown
  })
  assert.deepEqual(flown, ['insert a 1', 'insert b 2'])
})

test('phase 1: what is in-request is pending again when a Drainer starts', async () => {
  const page = await tab()
  await page.evaluate(async () => {
    const { std, rows, flown, say, until } = await lab.scripted({ platform: lab.browser() })
    await std.ready
    say('a', 'hold')
    await std.outbox.stored(rows.insert({ id: 'a', n: 1 }))
    await until(() => flown.length === 1)
  })
  assert.deepEqual((await page.evaluate(() => lab.records('std-sync')))['entries']!.map(({ status }) => status), ['in-request'])
  await reload(page)
  const status = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    // A Drainer without the Handler: it flies nothing, and so shows what it found.
    const std = createStdSync({ name: 'scripted', platform: lab.browser(), outbox: true })
    await std.ready
    while (std.outbox.status().waitingFor !== 'handler:collection:rows') await new Promise((resolve) => setTimeout(resolve, 5))
    return std.outbox.status()
  })
  assert.deepEqual([status.pending, status.inRequest], [1, 0])
})

test('phase 1: an interruption leaves the Entries pending, and the next Drainer flies them', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const one = await lab.scripted({ platform: lab.browser() })
    await one.std.ready
    one.say('a', 'hold')
    const edit = one.rows.insert({ id: 'a', n: 1 })
    await one.until(() => one.flown.length === 1)
    const outcome = one.outcome(one.std.outbox.delivered(edit))
    await one.std.dispose()
    one.say('a')
    const two = await lab.scripted({ platform: lab.browser() })
    await two.std.ready
    await two.until(() => two.std.outbox.status().pending + two.std.outbox.status().inRequest === 0)
    return { outcome: await outcome, flown: two.flown, shown: two.shown() }
  })
  assert.deepEqual(seen, { outcome: 'disposed', flown: ['insert a 1'], shown: ['a 1'] })
})

test('phase 1: a failure marks its Entries failed, and the Queue goes on', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const { std, rows, flown, say, set, outcome, statuses, shown } = await lab.scripted()
    await std.ready
    await std.outbox.delivered(rows.insert({ id: 'a', n: 0 }))
    say('a', 'fail')
    const bad = await outcome(std.outbox.delivered(set('a', 1)))
    const rolledBack = shown()
    say('a')
    const good = await outcome(std.outbox.delivered(set('a', 2)))
    return { bad, rolledBack, good, flown, statuses: await statuses() }
  })
  assert.deepEqual(seen, { bad: 'failed', rolledBack: ['a 0'], good: 'delivered', flown: ['insert a 0', 'update a 1', 'update a 2'], statuses: ['update a failed'] })
})

test('phase 1: an Entry whose Handler is not registered stays pending until it is', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const one = await lab.scripted({ platform: lab.browser() })
    await one.std.ready
    one.say('a', 'away')
    await one.std.outbox.stored(one.rows.insert({ id: 'a', n: 1 }))
    await one.std.dispose()
    const { createStdSync } = await lab.load()
    const two = createStdSync({ name: 'scripted', platform: lab.browser(), outbox: true })
    await two.ready
    await one.until(() => two.outbox.status().waitingFor === 'handler:collection:rows')
    const { pending, failed } = two.outbox.status()
    const flown: string[] = []
    two.collection<{ id: string; n: number }, string>({ name: 'rows', getKey: ({ id }) => id, onInsert: ([row]) => void flown.push(row!.id) })
    await one.until(() => two.outbox.status().pending === 0 && two.outbox.status().inRequest === 0)
    return { pending, failed, flown }
  })
  assert.deepEqual(seen, { pending: 1, failed: 0, flown: ['a'] })
})

test('phase 1: OutboxUnreachable returns the group to pending, told by name or tag, and by a fetch that failed', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const errors: Record<string, unknown> = {
      class: new lab.OutboxUnreachable(),
      name: Object.assign(new Error('another copy'), { name: 'OutboxUnreachable' }),
      tag: { _tag: 'OutboxUnreachable' },
      fetch: new TypeError('Failed to fetch'),
    }
    const std = createStdSync({ name: 'x', platform: lab.memory(), outbox: true })
    let away = true
    const attempts: string[] = []
    const rows = std.collection<{ id: string }, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: ([row], { attempt }) => {
        if (row!.id === 'never') throw new lab.db.NonRetriableError('never')
        attempts.push(`${row!.id} ${attempt}`)
        if (away) throw errors[row!.id]
      },
    })
    await std.ready
    const never = await std.outbox.delivered(rows.insert({ id: 'never' })).then(() => 'delivered', (error: { code: string; cause: Error }) => `${error.code} ${error.cause.message}`)
    const edits = Object.keys(errors).map((id) => rows.insert({ id }))
    while (std.outbox.status().pending < 4 || std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 5))
    const { failed } = std.outbox.status()
    away = false
    std.outbox.drain()
    await Promise.all(edits.map((edit) => std.outbox.delivered(edit)))
    return { never, failed, attempts: attempts.sort() }
  })
  assert.equal(seen.never, 'failed never', 'TanStack\'s NonRetriableError is final')
  assert.equal(seen.failed, 1)
  assert.deepEqual(seen.attempts, ['class 1', 'class 2', 'fetch 1', 'fetch 2', 'name 1', 'name 2', 'tag 1', 'tag 2'])
})

test('phase 1: a Waiter resolves on a store check when no doorbell rings', async () => {
  const leader = await tab()
  await leader.evaluate(() => lab.open({}))
  await eventually(async () => assert.equal(await leader.evaluate(() => lab.opened.std.outbox.status().leader), true))
  const deaf = await now.chrome.context.newPage()
  await deaf.addInitScript(`
    BroadcastChannel.prototype.addEventListener = () => undefined
    Object.defineProperty(BroadcastChannel.prototype, 'onmessage', { set() {} })
  `)
  await deaf.goto(now.server.url)
  await deaf.waitForFunction(() => 'lab' in globalThis)
  await deaf.evaluate(async () => {
    const { std, todos } = await lab.open({})
    const edit = todos!.insert(lab.todo('a', 'a'))
    Object.assign(lab, { edit, outcome: undefined })
    std.outbox.delivered(edit).then(() => Object.assign(lab, { outcome: 'delivered' }), () => undefined)
    await std.outbox.stored(edit)
  })
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']))
  await eventually(async () => assert.deepEqual(await entries(leader), []))
  assert.equal(await deaf.evaluate(() => (lab as never as { outcome?: string }).outcome), undefined, 'it cannot know yet')
  await deaf.evaluate(() => dispatchEvent(new Event('online')))
  await eventually(async () => assert.equal(await deaf.evaluate(() => (lab as never as { outcome?: string }).outcome), 'delivered'))
})

// Phase 2: the Queues of Entities.

test('phase 2: a reload in the middle of a Request loses nothing', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold' })
  const page = await tab()
  await page.evaluate(async () => {
    await lab.open({})
    lab.opened.todos.insert(lab.todo('a', 'a'))
  })
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await reload(page)
  await now.server.heal()
  await page.evaluate(() => lab.open({}))
  assert.deepEqual(await titles(page), { a: 'a' })
  await eventually(async () => assert.deepEqual(await entries(page), []))
  const requests = await now.server.requests()
  assert.deepEqual(applied(requests), ['POST /api/todos'], 'applied once')
  assert.equal(new Set(requests.map(({ key }) => key)).size, 1)
})

test('phase 2: a failure rolls the row back', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const { std, rows, say, set, outcome, shown } = await lab.scripted()
    await std.ready
    await std.outbox.delivered(rows.insert({ id: 'a', n: 0 }))
    say('a', 'fail')
    say('b', 'fail')
    const outcomes = []
    for (const write of [() => set('a', 1), () => rows.insert({ id: 'b', n: 1 }), () => rows.delete('a')]) {
      const edit = write()
      const optimistic = shown()
      outcomes.push([optimistic, await outcome(std.outbox.delivered(edit)), shown()])
    }
    return outcomes
  })
  assert.deepEqual(seen, [[['a 1'], 'failed', ['a 0']], [['a 0', 'b 1'], 'failed', ['a 0']], [[], 'failed', ['a 0']]])
})

test('phase 2: the next leader flies again what the last one left', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold' })
  const one = await tab()
  await one.evaluate(() => lab.open({}))
  const two = await tab()
  await two.evaluate(() => lab.open({}))
  await one.evaluate(() => void lab.opened.todos.insert(lab.todo('a', 'a')))
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await one.close()
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await titles(two), { a: 'a' }))
  await eventually(async () => assert.deepEqual(await entries(two), []))
  const requests = await now.server.requests()
  assert.deepEqual(applied(requests), ['POST /api/todos'])
  assert.equal(new Set(requests.map(({ key }) => key)).size, 1)
})

test('phase 2: a Waiter in a tab that does not lead resolves after the leader\'s Request, wherever the lead has moved', async () => {
  await now.server.fault({ method: 'POST', mode: 'fail' })
  const one = await tab()
  await one.evaluate(() => lab.open({}))
  await eventually(async () => assert.equal(await one.evaluate(() => lab.opened.std.outbox.status().leader), true))
  const two = await tab()
  await two.evaluate(() => lab.open({}))
  const three = await tab()
  await three.evaluate(() => lab.open({}))
  const outcome = three.evaluate(() => lab.opened.std.outbox.delivered(lab.opened.todos.insert(lab.todo('a', 'a'))).then(() => 'delivered', (error: { code: string }) => error.code))
  await eventually(async () => assert.equal((await now.server.requests()).length, 1))
  await one.close()
  await eventually(async () => assert.equal(await two.evaluate(() => lab.opened.std.outbox.status().leader), true))
  await now.server.heal()
  await three.evaluate(() => lab.opened.std.outbox.drain())
  assert.equal(await outcome, 'delivered')
  assert.equal(await three.evaluate(() => lab.events.some(({ type }) => type === 'flown')), false)
})

// Phase 3: the Ready Gate and the API.

test('phase 3: the Ready Gate opens once what is stored is shown, offline too; then calls are replayed, and then the Drainer starts', async () => {
  const page = await tab()
  await page.evaluate(async () => {
    const { std, rows, act, say, set, until } = await lab.scripted({ platform: lab.browser() })
    const call = act()
    await std.ready
    await std.outbox.delivered(rows.insert({ id: 'a', n: 0 }))
    say('a', 'away')
    say('q 1', 'away')
    await Promise.all([set('a', 1), call({ queue: 'q', n: 1 })].map((edit) => std.outbox.stored(edit)))
    await until(() => std.outbox.status().waitingFor === 'backoff')
  })
  await reload(page)
  const seen = await page.evaluate(async () => {
    lab.events.length = 0
    const { std, act, shown } = await lab.scripted({ platform: lab.browser({ connectivity: { isOnline: () => false, subscribe: () => () => undefined } }) })
    act()
    await std.ready
    return { shown: shown(), leader: std.outbox.status().leader, events: lab.events.map(({ type, name }) => `${type} ${name ?? ''}`) }
  })
  assert.deepEqual(seen.shown, ['a 1', 'q/1 1'])
  const order = ['replayed collection:rows', 'replayed action:act', 'gate-open ', 'leader ']
  await eventually(async () => {
    const events = await page.evaluate(() => lab.events.map(({ type, name }) => `${type} ${name ?? ''}`))
    assert.deepEqual(events.filter((event) => order.includes(event)), order)
  })
})

test('phase 3: a Collection made later replays at its own ready', async () => {
  const page = await tab()
  await page.evaluate(async () => {
    lab.network.off = true
    await lab.open({})
    await lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a')))
  })
  await reload(page)
  const shown = await page.evaluate(async () => {
    await lab.open({ late: true })
    const todos = lab.opened.collect()
    await todos.preload()
    return lab.rows(todos).map(({ id }) => id)
  })
  assert.deepEqual(shown, ['a'])
})

// Phase 4: Offline Actions.

test('phase 4: Queues of an action are independent, and calls of one fly in order, one at a time', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const { std, act, flown, say } = await lab.scripted()
    const call = act()
    await std.ready
    say('slow 1', 'hold')
    const slow = [1, 2].map((n) => call({ queue: 'slow', n }))
    const fast = [1, 2].map((n) => call({ queue: 'fast', n }))
    await Promise.all(fast.map(({ delivered }) => delivered))
    const meanwhile = flown.filter((one) => one.startsWith('act slow'))
    say('slow 1')
    await Promise.all(slow.map(({ delivered }) => delivered))
    return { meanwhile, slow: flown.filter((one) => one.startsWith('act slow')), fast: flown.filter((one) => one.startsWith('act fast')) }
  })
  assert.deepEqual(seen, { meanwhile: ['act slow 1'], slow: ['act slow 1', 'act slow 2'], fast: ['act fast 1', 'act fast 2'] })
})

test('phase 4: a failed call does not stop its Queue', async () => {
  const page = await tab()
  const seen = await page.evaluate(async () => {
    const { std, act, say, outcome, shown, statuses } = await lab.scripted()
    const call = act()
    await std.ready
    say('q 2', 'fail')
    const outcomes = await Promise.all([1, 2, 3].map((n) => outcome(call({ queue: 'q', n }).delivered)))
    return { outcomes, shown: shown(), statuses: await statuses() }
  })
  assert.deepEqual(seen.outcomes, ['delivered', 'failed', 'delivered'])
  assert.deepEqual(seen.shown, [], 'what a call does on screen is its own, and gone with it')
  assert.deepEqual(seen.statuses, ['action  failed'])
})

test('phase 4: queued calls are replayed after a reload, and sent once', async () => {
  const page = await tab()
  await page.evaluate(async () => {
    const { std, act, say } = await lab.scripted({ platform: lab.browser() })
    const call = act()
    await std.ready
    for (const n of [1, 2]) say(`q ${n}`, 'away')
    await Promise.all([1, 2].map((n) => std.outbox.stored(call({ queue: 'q', n }))))
  })
  await reload(page)
  const seen = await page.evaluate(async () => {
    const { std, act, flown, say, shown, until } = await lab.scripted({ platform: lab.browser() })
    say('q 1', 'hold')
    act()
    await std.ready
    const replayed = shown()
    say('q 1')
    await until(() => std.outbox.status().pending + std.outbox.status().inRequest === 0)
    return { replayed, flown }
  })
  assert.deepEqual(seen, { replayed: ['q/1 1', 'q/2 2'], flown: ['act q 1', 'act q 2'] })
})

test('phase 4: a call of an unregistered action stays pending until the action is created, and is then replayed', async () => {
  const page = await tab()
  await page.evaluate(async () => {
    const { std, act, say } = await lab.scripted({ platform: lab.browser() })
    const call = act()
    await std.ready
    say('q 1', 'away')
    await std.outbox.stored(call({ queue: 'q', n: 1 }))
  })
  await reload(page)
  const seen = await page.evaluate(async () => {
    const { std, act, flown, say, shown, until } = await lab.scripted({ platform: lab.browser() })
    await std.ready
    await until(() => std.outbox.status().waitingFor === 'handler:action:act')
    const before = { shown: shown(), pending: std.outbox.status().pending }
    say('q 1', 'hold')
    act()
    await until(() => shown().length === 1)
    say('q 1')
    await until(() => std.outbox.status().pending + std.outbox.status().inRequest === 0)
    return { before, flown }
  })
  assert.deepEqual(seen, { before: { shown: [], pending: 1 }, flown: ['act q 1'] })
})

// The second document: a move that cannot lose, a durable claim, a fresh etag.

/** A tab with the row "old" of the server, which a move copies to "new" and then deletes. */
async function moving(title = 'meeting') {
  await now.server.foreign('old', { title: 'meeting' })
  const page = await tab()
  await page.evaluate(() => lab.open({ pull: 200 }))
  await eventually(async () => assert.deepEqual(await titles(page), { old: 'meeting' }))
  return Object.assign(page, {
    move: () => page.evaluate(async (title) => {
      const { std, todos } = lab.opened
      const move = std.inOrder(() => {
        todos.insert(lab.todo('new', title))
        todos.delete('old')
      })
      await std.outbox.stored(move)
      return move.id
    }, title),
  })
}

const methods = async () => (await now.server.requests()).map(({ method }) => method)

test('drain 1: the sibling create is pending, and the delete is left pending; drain 2: it is done, and the delete is sent once', async () => {
  const page = await moving()
  await now.server.fault({ method: 'POST', mode: 'fail' })
  const id = await page.move()
  await eventually(async () => assert.ok((await methods()).length >= 1))
  await page.evaluate(() => lab.opened.std.outbox.drain())
  await eventually(async () => assert.ok((await methods()).length >= 2))
  assert.ok(!(await methods()).includes('DELETE'), 'drain 1')
  assert.deepEqual((await entries(page)).map((entry) => [entry.id, entry.status]), [[`${id}:0`, 'pending'], [`${id}:1`, 'pending']])
  await reload(page)
  await now.server.heal()
  await page.evaluate(() => lab.open({}))
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.equal((await methods()).filter((method) => method === 'DELETE').length, 1, 'drain 2')
  assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos', 'DELETE /api/todos/old'])
})

test('drain 1 in one tab, drain 2 in another: the gate is in the store', async () => {
  const page = await moving()
  await now.server.fault({ method: 'POST', mode: 'hold' })
  await page.move()
  const other = await tab()
  await other.evaluate(() => lab.open({}))
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await page.close()
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await entries(other), []))
  assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos', 'DELETE /api/todos/old'])
  await eventually(async () => assert.deepEqual(await titles(other), { new: 'meeting' }))
})

test('the sibling create failed: the delete is marked failed, never sent, and the original preserved', async () => {
  const page = await moving(' ')
  const id = await page.move()
  await eventually(async () => assert.deepEqual((await entries(page)).map(({ status, error }) => [status, error?.message]), [['failed', 'title must not be blank; give it at least one visible character'], ['failed', `depends on ${id}:0`]]))
  await page.evaluate(() => lab.opened.std.outbox.drain())
  await eventually(async () => assert.deepEqual(await titles(page), { old: 'meeting' }))
  assert.deepEqual(await methods(), ['POST'])
  assert.deepEqual((await now.server.todos()).map(({ id }) => id), ['old'])
})

test('two overlapping drains, and two tabs, send one row once', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold' })
  const pages = [await tab(), await tab()]
  for (const page of pages) await page.evaluate(() => lab.open({}))
  await pages[1]!.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a'))))
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await Promise.all(pages.map((page) => page.evaluate(async () => {
    for (let n = 0; n < 20; n++) {
      lab.opened.std.outbox.drain()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  })))
  await now.server.heal()
  for (const page of pages) await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.deepEqual(await methods(), ['POST'])
})

test('a stolen lock: the loser flies and writes nothing more, and the Request is repeated under its key', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold', times: 1 })
  const one = await tab()
  await one.evaluate(() => lab.open({}))
  await eventually(async () => assert.equal(await one.evaluate(() => lab.opened.std.outbox.status().leader), true))
  const two = await tab()
  await two.evaluate(() => lab.open({}))
  await one.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a'))))
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await two.evaluate(() => navigator.locks.request('std-sync/e2e/outbox/v1', { steal: true }, () => undefined))
  await eventually(async () => assert.deepEqual(await entries(two), []))
  await now.server.heal()
  await eventually(async () => assert.equal((await now.server.requests()).length, 2))
  const requests = await now.server.requests()
  assert.equal(new Set(requests.map(({ key }) => key)).size, 1)
  assert.deepEqual(applied(requests), ['POST /api/todos'])
  assert.ok(await one.evaluate(() => lab.events.some(({ type }) => type === 'follower')), 'the loser knows')
  for (const page of [one, two]) await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }))
})

/** A tab with the row "a" of the server, fetched once. */
async function versioned() {
  await now.server.foreign('a', { title: 'one' })
  const page = await tab()
  await page.evaluate(() => lab.open({ pull: 600_000 }))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'one' }))
  return page
}

test('fresh etag: two quick edits meet no 412, since the second carries the version that the first left', async () => {
  const page = await versioned()
  await now.server.fault({ method: 'PATCH', mode: 'hold' })
  const last = await page.evaluate(async () => {
    const { std, todos } = lab.opened
    await std.outbox.stored(todos.update('a', (draft) => void (draft.title = 'two')))
    return todos.get('a')!.version
  })
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  const base = await page.evaluate(async () => {
    const { std, todos } = lab.opened
    const edit = todos.update('a', (draft) => void (draft.title = 'three'))
    await std.outbox.stored(edit)
    return (edit.mutations[0]!.original as unknown as { version: number }).version
  })
  assert.equal(base, last, 'the second edit was made on the version of the first')
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await entries(page), []))
  const sent = (await now.server.requests()).filter(({ method }) => method === 'PATCH')
  assert.deepEqual(sent.map(({ ifMatch, status }) => [ifMatch, status]), [['"1"', 200], ['"2"', 200]])
  assert.deepEqual((await now.server.todos()).map(({ title }) => title), ['three'])
})

test('fresh etag: a genuine foreign change still meets 412', async () => {
  const page = await versioned()
  await now.server.foreign('a', { title: 'theirs' })
  const outcome = await page.evaluate(() => lab.opened.std.outbox.delivered(lab.opened.todos.update('a', (draft) => void (draft.title = 'mine'))).then(() => 'delivered', (error: { code: string }) => error.code))
  assert.equal(outcome, 'failed')
  const sent = (await now.server.requests()).filter(({ method }) => method === 'PATCH')
  assert.deepEqual(sent.map(({ ifMatch, status }) => [ifMatch, status]), [['"1"', 412]])
  assert.deepEqual((await now.server.todos()).map(({ title }) => title), ['theirs'])
})

test('fallback etag: with no row in the Sync Replica, the edit carries the version it was made on', async () => {
  const page = await versioned()
  await now.server.fault({ method: 'PATCH', mode: 'fail' })
  await page.evaluate(async () => {
    const { std, todos } = lab.opened
    await std.outbox.stored(todos.update('a', (draft) => void (draft.title = 'two')))
    await lab.clear('std-sync', 'replica')
  })
  assert.deepEqual((await page.evaluate(() => lab.records('std-sync')))['replica'], [])
  await now.server.heal()
  await page.evaluate(() => lab.opened.std.outbox.drain())
  await eventually(async () => assert.deepEqual(await entries(page), []))
  const sent = (await now.server.requests()).filter(({ method }) => method === 'PATCH')
  assert.equal(sent.at(-1)?.ifMatch, '"1"')
  assert.equal(sent.at(-1)?.status, 200)
})
