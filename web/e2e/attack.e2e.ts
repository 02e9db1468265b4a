// The store under attack, and input that nobody can vouch for.
import type { Page } from 'playwright-core'
import { assert, entries, eventually, stage, test } from './support.js'

const now = stage()

async function scripted(page: Page) {
  await page.evaluate(async () => {
    await lab.scripted({ platform: lab.browser() })
    await lab.script.std.ready
  })
}

async function opened() {
  const page = await now.chrome.tab(now.server.url)
  await scripted(page)
  return page
}

const told = (page: Page, type: string) => page.evaluate((type) => lab.events.filter((event) => event.type === type).map(({ error }) => `${error?.code}: ${error?.message}`), type)

test('a disk that is full refuses the write with storage, names the way out, and hurts nothing else', async () => {
  const page = await opened()
  const seen = await page.evaluate(async () => {
    const { std, rows, outcome, shown, flown } = lab.script
    await std.outbox.delivered(rows.insert({ id: 'before', n: 0 }))
    const add = IDBObjectStore.prototype.add
    IDBObjectStore.prototype.add = () => {
      throw new DOMException('the quota has been exceeded', 'QuotaExceededError')
    }
    const refused = rows.insert({ id: 'full', n: 1 })
    const outcomes = [await outcome(std.outbox.stored(refused)), await outcome(std.outbox.delivered(refused))]
    const message = await std.outbox.delivered(refused).catch((error: Error) => error.message)
    const rolledBack = shown()
    IDBObjectStore.prototype.add = add
    outcomes.push(await outcome(std.outbox.delivered(rows.insert({ id: 'after', n: 2 }))))
    return { outcomes, message, rolledBack, flown }
  })
  assert.deepEqual(seen.outcomes, ['storage', 'storage', 'delivered'])
  assert.match(String(seen.message), /full: free some/)
  assert.deepEqual(seen.rolledBack, ['before 0'])
  assert.deepEqual(seen.flown, ['insert before 0', 'insert after 2'])
})

test('a transaction that the browser aborts at the last moment refuses its writes, and the next one is stored', async () => {
  const page = await opened()
  const outcomes = await page.evaluate(async () => {
    const { std, rows, outcome } = lab.script
    const commit = IDBTransaction.prototype.commit
    IDBTransaction.prototype.commit = function () {
      this.abort()
    }
    const refused = rows.insert({ id: 'a', n: 1 })
    const first = await outcome(std.outbox.stored(refused))
    await outcome(std.outbox.delivered(refused))
    IDBTransaction.prototype.commit = commit
    return [first, await outcome(std.outbox.delivered(rows.insert({ id: 'a', n: 2 })))]
  })
  assert.deepEqual(outcomes, ['storage', 'delivered'])
})

test('a database that is deleted while tabs live: what waits rejects, an Event says so, and everything goes on in a new one', async () => {
  const pages = [await opened(), await opened()]
  const outcomes = pages.map((page, n) => page.evaluate(async (n) => {
    const { std, rows, say, outcome } = lab.script
    for (const id of ['a0', 'a1']) say(id, 'away')
    const edit = rows.insert({ id: `a${n}`, n })
    await std.outbox.stored(edit)
    return outcome(std.outbox.delivered(edit))
  }, n))
  await eventually(async () => assert.equal((await pages[0]!.evaluate(() => lab.records('std-sync')))['entries']!.length, 2))
  const devtools = await now.chrome.tab(now.server.url)
  assert.equal(await devtools.evaluate(() => new Promise((resolve) => {
    const request = indexedDB.deleteDatabase('std-sync')
    request.onsuccess = () => resolve('deleted')
    setTimeout(() => resolve('blocked'), 5_000)
  })), 'deleted')
  for (const outcome of outcomes) assert.equal(await outcome, 'reset')
  for (const page of pages) {
    await eventually(async () => assert.ok((await told(page, 'storage')).length > 0))
    await eventually(async () => assert.deepEqual(await page.evaluate(() => lab.script.shown()), []))
  }
  for (const [n, page] of pages.entries()) {
    assert.equal(await page.evaluate((n) => {
      const { std, rows, outcome } = lab.script
      return outcome(std.outbox.delivered(rows.insert({ id: `b${n}`, n })))
    }, n), 'delivered')
  }
})

test('a database that newer code upgrades while tabs live: superseded, an Event, and nothing is written any more', async () => {
  const page = await opened()
  const outcome = page.evaluate(async () => {
    const { std, rows, say, outcome } = lab.script
    say('a', 'away')
    const edit = rows.insert({ id: 'a', n: 1 })
    await std.outbox.stored(edit)
    return outcome(std.outbox.delivered(edit))
  })
  await eventually(async () => assert.equal((await page.evaluate(() => lab.records('std-sync')))['entries']!.length, 1))
  const newer = await now.chrome.tab(now.server.url)
  await newer.evaluate(() => new Promise<void>((resolve, reject) => {
    const request = indexedDB.open('std-sync', 99)
    request.onsuccess = () => (request.result.close(), resolve())
    request.onerror = () => reject(request.error)
  }))
  assert.equal(await outcome, 'superseded')
  await eventually(async () => assert.match((await told(page, 'superseded')).join(), /reload the page/))
  assert.equal(await page.evaluate(() => lab.script.outcome(lab.script.std.outbox.delivered(lab.script.rows.insert({ id: 'b', n: 2 })))), 'superseded')
})

test('a record of a format from the future is superseded, and left alone', async () => {
  const page = await opened()
  await page.evaluate(async () => {
    const { std, rows } = lab.script
    await std.outbox.delivered(rows.insert({ id: 'a', n: 1 }))
    await std.dispose()
    const [meta] = (await lab.records('std-sync'))['meta']!
    await lab.put('std-sync', 'meta', [{ ...meta, format: 2 }])
  })
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  const seen = await page.evaluate(async () => {
    const { std, rows, outcome } = await lab.scripted({ platform: lab.browser() })
    const ready = await outcome(std.ready)
    const write = await outcome(std.outbox.delivered(rows.insert({ id: 'b', n: 2 })))
    const { replica, meta } = await lab.records('std-sync')
    return { ready, write, rows: replica!.length, format: meta![0]!['format'] }
  })
  assert.deepEqual(seen, { ready: 'superseded', write: 'superseded', rows: 1, format: 2 })
  assert.equal((await told(page, 'superseded')).length, 1)
})

for (const [name, init] of Object.entries({
  'that is not there': `Object.defineProperty(globalThis, 'indexedDB', { get: () => undefined })`,
  'that the browser blocks': `IDBFactory.prototype.open = () => { throw new DOMException('The user denied permission to access the database.', 'SecurityError') }`,
})) {
  test(`storage ${name}, as in a private window: ready and every write reject with storage, and nothing hangs`, async () => {
    const page = await now.chrome.context.newPage()
    await page.addInitScript(init)
    await page.goto(now.server.url)
    await page.waitForFunction(() => 'lab' in globalThis)
    const seen = await page.evaluate(async () => {
      const { std, rows, outcome, shown } = await lab.scripted({ platform: lab.browser() })
      const ready = await outcome(std.ready)
      await rows.preload()
      const write = rows.insert({ id: 'a', n: 1 })
      return { ready, stored: await outcome(std.outbox.stored(write)), delivered: await outcome(std.outbox.delivered(write)), shown: shown() }
    })
    assert.deepEqual(seen, { ready: 'storage', stored: 'storage', delivered: 'storage', shown: [] })
    assert.ok((await told(page, 'storage')).length > 0)
  })
}

test('entries that were edited by hand fail alone, wedge no queue, and can be discarded; the module lives', async () => {
  const page = await opened()
  await page.evaluate(async () => {
    const { std, rows, say } = lab.script
    for (let n = 0; n < 14; n++) say(`r${n}`, 'away')
    await Promise.all(Array.from({ length: 14 }, (_, n) => std.outbox.stored(rows.insert({ id: `r${n}`, n }))))
    await std.dispose()
    const entries = (await lab.records('std-sync'))['entries']!.sort((a, b) => Number(a['seq']) - Number(b['seq']))
    const edits: ((entry: Record<string, unknown>) => object)[] = [
      (entry) => ({ ...entry, op: 'drop' }),
      ({ op: _, ...entry }) => entry,
      (entry) => ({ ...entry, name: 'collection:others' }),
      (entry) => ({ ...entry, name: 7n }),
      ({ changes: _, ...entry }) => entry,
      (entry) => ({ ...entry, transaction: 1n }),
      (entry) => ({ ...entry, enqueuedAt: 12n, attempt: 3n, requestId: 4n, error: 5n, claim: 6n, after: 7n }),
      (entry) => ({ ...entry, changes: 'a text', base: 5n }),
      (entry) => ({ ...entry, changes: null }),
      (entry) => ({ ...entry, seq: 'last' }),
      (entry) => ({ ...entry, queue: 5 }),
      (entry) => ({ ...entry, status: 'weird' }),
      (entry) => ({ ...entry, after: { length: 1e9 }, claim: { epoch: 'x' }, error: { name: 1n } }),
    ]
    await lab.put('std-sync', 'entries', [...edits.map((edit, n) => edit(entries[n]!)), { id: 5, sync: 'scripted', queue: 'collection:rows/s:z', status: 'pending', seq: 99, name: 'collection:rows', op: 'insert' }])
    const [meta] = (await lab.records('std-sync'))['meta']!
    await lab.put('std-sync', 'meta', [{ ...meta, lease: 9n, paused: 0n }])
    // Behind each of them in its queue, a sound one.
    await lab.put('std-sync', 'entries', entries.map((entry, n) => ({ ...entry, id: `sound${n}`, transaction: `sound${n}`, seq: 100 + n, status: 'pending', op: 'update', base: { id: `r${n}`, n }, changes: { n: 100 + n } })))
  })
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await scripted(page)
  const sound = async () => (await entries(page)).filter(({ id, status }) => id.startsWith('sound') && status !== 'failed').map(({ id }) => id)
  await eventually(async () => assert.deepEqual(await sound(), [], 'no queue is wedged'))
  const left = await entries(page)
  for (const { id, status, error } of left.filter(({ status }) => status === 'failed')) assert.ok(error?.message, `${id} ${status}`)
  const failed = await told(page, 'failed')
  assert.ok(failed.filter((text) => text.includes('cannot be sent')).length >= 5, failed.join('\n'))
  assert.ok(!(await page.evaluate(() => lab.events.map(({ type }) => type))).includes('crashed'))
  await page.evaluate(async () => {
    for (const id of [...lab.script.std.outbox.entity.keys()]) await lab.script.std.outbox.discard(id)
  })
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.equal(await page.evaluate(() => lab.script.outcome(lab.script.std.outbox.delivered(lab.script.rows.insert({ id: 'fresh', n: 1 })))), 'delivered')
})

test('values of any kind are carried faithfully or refused clearly', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    type Row = { id: string | number; value?: unknown } & Record<string, unknown>
    const flown: Row[] = []
    const std = createStdSync({ name: 'a/b%c 😀 __proto__', platform: lab.browser(), outbox: true })
    const rows = std.collection<Row, string | number>({ name: 'rows/😀', getKey: ({ id }) => id, onInsert: ([row]) => void flown.push(row!), onUpdate: ({ current, updates }) => void flown.push({ ...current, ...updates }) })
    await std.ready
    const outcome = (row: Row) => std.outbox.delivered(rows.insert(row)).then(() => 'delivered', (error: { code: string; message: string }) => `${error.code}: ${error.message}`)
    let deep: unknown = 1
    for (let n = 0; n < 2_000; n++) deep = { deep }
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    const big = 'x'.repeat(8 << 20)
    const outcomes: Record<string, string> = {}
    const proto = JSON.parse('{"id":"proto","__proto__":{"polluted":1},"constructor":"c","prototype":2,"hasOwnProperty":3}') as Row
    for (const [name, row] of Object.entries<Row>({
      proto, deep: { id: 'deep', value: deep }, cyclic: { id: 'cyclic', value: cyclic }, big: { id: 'big', value: big },
      kinds: { id: 'kinds', value: [new Date(1), new Map([[1, new Set([2n])]]), new Uint8Array([1, 2]), undefined, null, NaN, -0, /x/g, new Error('e')] },
      fn: { id: 'fn', value: () => 1 }, symbol: { id: 'symbol', value: Symbol('s') }, promise: { id: 'promise', value: Promise.resolve() }, weak: { id: 'weak', value: new WeakMap() },
      one: { id: 1 }, text: { id: '1' }, slash: { id: 'a/b' }, percent: { id: '%2F' }, empty: { id: '' }, like: { id: 'n:1' }, nul: { id: '\u0000\uffff' }, float: { id: 1.5e300 }, minus: { id: -0 },
    })) outcomes[name] = await outcome(row)
    const by = (id: unknown) => flown.find((row) => row.id === id)!
    const kinds = by('kinds').value as unknown[]
    const cycle = by('cyclic').value as { self: unknown }
    return {
      outcomes,
      polluted: ({} as { polluted?: number }).polluted, proto: Object.keys(by('proto')).sort(), own: Object.getOwnPropertyDescriptor(by('proto'), '__proto__')?.value,
      big: (by('big').value as string).length, cyclic: cycle.self === cycle,
      kinds: [kinds[0] instanceof Date, (kinds[1] as Map<number, Set<bigint>>).get(1)!.has(2n), (kinds[2] as Uint8Array)[1], kinds.length, Object.is(kinds[5], NaN), Object.is(kinds[6], -0), String(kinds[7]), (kinds[8] as Error).message],
      keys: [...rows.keys()].map((key) => `${typeof key} ${String(key)}`).sort(),
    }
  })
  for (const [name, outcome] of Object.entries(seen.outcomes)) {
    if (['fn', 'symbol', 'promise', 'weak'].includes(name)) assert.match(outcome, /^not-storable: .*"value"/, name)
    else assert.equal(outcome, 'delivered', name)
  }
  assert.equal(seen.polluted, undefined)
  assert.deepEqual(seen.proto, ['__proto__', 'constructor', 'hasOwnProperty', 'id', 'prototype'])
  assert.deepEqual(seen.own, { polluted: 1 })
  assert.deepEqual([seen.big, seen.cyclic], [8 << 20, true])
  assert.deepEqual(seen.kinds, [true, true, 2, 9, true, true, '/x/g', 'e'])
  assert.ok(seen.keys.includes('number 1') && seen.keys.includes('string 1') && seen.keys.includes('string n:1'), seen.keys.join())
})

test('what is on the doorbell, of whatever shape, changes nothing', async () => {
  const page = await opened()
  await page.evaluate(() => lab.script.say('a', 'away'))
  await page.evaluate(() => lab.script.std.outbox.stored(lab.script.rows.insert({ id: 'a', n: 1 })))
  const other = await now.chrome.tab(now.server.url)
  await other.evaluate(() => {
    const bell = new BroadcastChannel('std-sync/scripted/outbox/v1')
    const messages: unknown[] = [
      null, 5, 5n, 'x', [], {}, new Date(), { v: 1 }, { v: 1, all: 'yes' }, { v: 2, all: true }, { v: 1, entries: 'x' }, { v: 1, entries: [[{}, 1n]] }, { v: 1, rows: [['rows', 's:zzz'], ['nowhere', 'n:x']] },
      { v: 1, entries: Array.from({ length: 5_000 }, (_, n) => [`id${n}`, 'q']) }, { v: 1, claimed: [['a', 'b']] }, { v: 1, all: true, steps: 1e9 }, { v: 1, lives: true, ask: true }, { v: 1, drain: true },
      { v: 1, entries: [['__proto__', 'collection:rows/s:a']] }, { v: 1, rows: [['__proto__', 's:constructor']] },
    ]
    for (let n = 0; n < 20; n++) for (const message of messages) bell.postMessage(message)
  })
  await eventually(async () => assert.deepEqual((await entries(page)).map(({ status }) => status === 'failed'), [false]))
  assert.deepEqual(await page.evaluate(() => lab.script.shown()), ['a 1'])
  await page.evaluate(() => {
    lab.script.say('a')
    lab.script.std.outbox.drain()
  })
  await eventually(async () => assert.deepEqual(await entries(page), []))
  assert.ok(!(await page.evaluate(() => lab.events.map(({ type }) => type))).some((type) => type === 'crashed' || type === 'reset' || type === 'storage'))
})

test('two users of one browser, whose names look alike, share nothing', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const out: string[] = []
    for (const name of ['acme-u1', 'acme-u11', 'acme-u1/outbox', 'ACME-U1', 'acme-u1 ']) {
      const std = createStdSync({ name, platform: lab.browser(), outbox: true })
      const rows = std.collection<{ id: string }, string>({ name: 'rows', getKey: ({ id }) => id, onInsert: ([row]) => {
        out.push(`${name} ${row!.id}`)
        throw new lab.OutboxUnreachable()
      } })
      await std.ready
      await std.outbox.stored(rows.insert({ id: name }))
      await std.outbox.entity.preload()
      while (std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 5))
      out.push(`${name}: ${[...rows.keys()]} ${std.outbox.entity.size}`)
      await std.dispose()
    }
    return out
  })
  for (const line of seen) assert.match(line, /^(.+)(: \1 1| \1)$/)
})

test('the package works under a strict content security policy, and leaves nothing global behind', async () => {
  const page = await now.chrome.context.newPage()
  const violations: string[] = []
  page.on('console', (message) => /Content Security Policy/.test(message.text()) && !/the image 'data:,'/.test(message.text()) && violations.push(message.text()))
  await page.route('**/', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, headers: { ...response.headers(), 'content-security-policy': `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'` } })
  })
  await page.goto(now.server.url)
  await page.waitForFunction('"lab" in globalThis')
  const before = await page.evaluate(() => Object.getOwnPropertyNames(globalThis).sort())
  const outcome = await page.evaluate(async () => {
    await lab.open({ pull: 100 })
    const { std, todos } = lab.opened
    await std.outbox.delivered(todos.insert(lab.todo('a', 'a')))
    return lab.rows(todos).length
  })
  assert.equal(outcome, 1)
  assert.deepEqual((await page.evaluate(() => Object.getOwnPropertyNames(globalThis).sort())).filter((name) => !before.includes(name)), [])
  assert.deepEqual(violations, [])
})
