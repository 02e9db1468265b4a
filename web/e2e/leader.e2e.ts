import type { Page } from 'playwright-core'
import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

const leads = (page: Page) => page.evaluate(() => lab.opened.std.outbox.status().leader)

/** A leader, and a tab behind it. */
async function two(init?: string): Promise<[leader: Page, follower: Page]> {
  const pages: Page[] = []
  for (const first of [true, false]) {
    const page = await now.chrome.context.newPage()
    if (init && first) await page.addInitScript(init)
    await page.goto(now.server.url)
    await page.waitForFunction(() => 'lab' in globalThis)
    await page.evaluate(() => lab.open({}))
    if (first) await eventually(async () => assert.equal(await leads(page), true))
    pages.push(page)
  }
  return pages as [Page, Page]
}

/** Stops a page as the browser stops one that it freezes: nothing of it runs, and it keeps its lock. */
async function freeze(page: Page): Promise<() => Promise<unknown>> {
  const session = await now.chrome.context.newCDPSession(page)
  await session.send('Debugger.enable')
  const paused = new Promise((resolve) => session.once('Debugger.paused', resolve))
  void session.send('Runtime.evaluate', { expression: 'debugger' }).catch(() => undefined)
  await paused
  return () => session.send('Debugger.resume')
}

/** Edits in a tab, and returns how long it took until the server had it, in ms. */
async function edit(page: Page, id: string): Promise<number> {
  const start = Date.now()
  await page.evaluate(async (id) => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo(id, id))), id)
  await eventually(async () => assert.ok(applied(await now.server.requests()).length > 0 && (await now.server.todos()).some((todo) => todo.id === id)), 20_000)
  return Date.now() - start
}

test('a leader whose main thread hangs is replaced within 15 s, and when it wakes it flies nothing and writes nothing', async () => {
  const [leader, follower] = await two()
  const awake = leader.evaluate(() => {
    const end = Date.now() + 22_000
    while (Date.now() < end);
    lab.events.length = 0
  })
  const took = await edit(follower, 'a')
  assert.ok(took < 15_000, `it took ${took} ms`)
  assert.equal(await leads(follower), true)
  await awake
  await eventually(async () => assert.equal(await leads(leader), false))
  await edit(leader, 'b')
  assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos', 'POST /api/todos'])
  assert.equal((await now.server.requests()).length, 2)
  const types = await leader.evaluate(() => lab.events.map(({ type }) => type))
  assert.ok(!types.includes('flown') && !types.includes('claimed') && !types.includes('storage'), types.join())
  for (const page of [leader, follower]) await eventually(async () => assert.deepEqual(await titles(page), { a: 'a', b: 'b' }))
})

test('a leader whose page is frozen is replaced, and finds its way back when it is thawed', async () => {
  const [leader, follower] = await two()
  const thaw = await freeze(leader)
  const took = await edit(follower, 'a')
  assert.ok(took < 15_000, `it took ${took} ms`)
  await thaw()
  await eventually(async () => assert.equal(await leads(leader), false))
  await eventually(async () => assert.deepEqual(await titles(leader), { a: 'a' }), 3_000)
  await edit(leader, 'b')
  assert.equal((await now.server.requests()).length, 2)
})

test('a leader whose timers stall for minutes, as in a hidden tab, answers and keeps draining', async () => {
  // What the page's own tests need is left alone: only Go's timers and the package's are long.
  const [leader, follower] = await two(`
    const set = globalThis.setTimeout
    globalThis.setTimeout = (run, ms, ...rest) => set(run, ms > 0 ? Math.max(ms, 120_000) : ms, ...rest)
    Object.defineProperty(Document.prototype, 'visibilityState', { get: () => 'hidden' })
    Object.defineProperty(Document.prototype, 'hidden', { get: () => true })
  `)
  for (const id of ['a', 'b', 'c', 'd']) {
    const took = await edit(follower, id)
    assert.ok(took < 5_000, `it took ${took} ms`)
  }
  // Its own edits are told without a timer, too.
  const own = await leader.evaluate(async () => {
    const { std, todos } = lab.opened
    for (let n = 0; n < 20; n++) await std.outbox.delivered(todos.insert(lab.todo(`own${n}`, 'own')))
    return todos.size
  })
  assert.ok(own >= 20)
  // It is asked, and answers: nobody takes its place.
  await now.server.fault({ method: 'POST', mode: 'hold' })
  await follower.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('held', 'held'))))
  await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
  await follower.evaluate(() => new Promise<void>((resolve) => {
    const heard: string[] = []
    const bell = new BroadcastChannel('std-sync/e2e/outbox/v1')
    bell.onmessage = ({ data }) => {
      for (const name of ['ask', 'lives']) if (data[name]) heard.push(name)
      if (heard.includes('ask') && heard.includes('lives')) resolve()
    }
  }))
  assert.equal(await leads(leader), true)
  await now.server.heal()
  await eventually(async () => assert.deepEqual(await entries(follower), []))
  assert.equal((await now.server.requests()).length, 25)
})

test('a hidden tab robs nobody', async () => {
  const [leader, follower] = await two()
  await follower.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true })
    const asked: string[] = []
    const bell = new BroadcastChannel('std-sync/e2e/outbox/v1')
    bell.onmessage = ({ data }) => void (data.ask && asked.push('ask'))
    Object.assign(lab, { asked })
  })
  const thaw = await freeze(leader)
  await follower.evaluate(async () => lab.opened.std.outbox.stored(lab.opened.todos.insert(lab.todo('a', 'a'))))
  await follower.waitForTimeout(11_000)
  assert.deepEqual([await leads(follower), await follower.evaluate(() => (lab as never as { asked: string[] }).asked)], [false, []])
  // Somebody looks at it: it asks at once.
  await follower.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { get: () => 'visible', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await eventually(async () => assert.equal(await follower.evaluate(() => lab.opened.std.outbox.status().waitingFor), 'leader'), 3_000)
  await eventually(async () => assert.equal(await leads(follower), true), 7_000)
  await eventually(async () => assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos']))
  await thaw()
})

test('without Web Locks one tab drains on the lease in the store, and another takes it over', async () => {
  const init = `Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined })`
  const pages: Page[] = []
  for (let n = 0; n < 2; n++) {
    const page = await now.chrome.context.newPage()
    await page.addInitScript(init)
    await page.goto(now.server.url)
    await page.waitForFunction(() => 'lab' in globalThis)
    await page.evaluate(() => lab.open({}))
    pages.push(page)
  }
  const [one, other] = pages as [Page, Page]
  await eventually(async () => assert.equal(await leads(one), true))
  for (const [n, page] of [one, other, one, other].entries()) await edit(page, `a${n}`)
  assert.deepEqual([await leads(one), await leads(other)], [true, false])
  assert.equal((await now.server.requests()).length, 4, 'each was sent once')
  const session = await now.chrome.context.newCDPSession(one)
  void session.send('Page.crash').catch(() => undefined)
  const took = await edit(other, 'b')
  assert.ok(took < 15_000, `it took ${took} ms`)
  assert.equal(await leads(other), true)
})

test('a page that comes back from the browser\'s cache, its channel silent and its connection closed, shows what has happened meanwhile', async () => {
  const page = await now.chrome.context.newPage()
  await page.addInitScript(`
    globalThis.cached = false
    const add = BroadcastChannel.prototype.addEventListener
    BroadcastChannel.prototype.addEventListener = function (type, listener) {
      add.call(this, type, (event) => globalThis.cached || listener(event))
    }
  `)
  await page.goto(now.server.url)
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate(() => lab.open({}))
  const other = await now.chrome.tab(now.server.url)
  await other.evaluate(() => lab.open({}))
  await page.evaluate(() => Object.assign(globalThis, { cached: true }))
  await edit(other, 'a')
  assert.deepEqual(await titles(page), {})
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
  await eventually(async () => assert.deepEqual(await titles(page), { a: 'a' }), 3_000)
})
