// Three tabs, a network that flaps, tabs that close, reload and crash, modules that
// die, and a server that fails, drops answers and stalls. In the end everybody agrees. `make soak` plays
// it for minutes; SOAK_SEED replays a run's moves.
import type { Page } from 'playwright-core'
import { assert, entries, eventually, stage, test } from './support.js'

const now = stage()

const seconds = Number(process.env['SOAK_SECONDS'] ?? 20)
const seed = Number(process.env['SOAK_SEED'] ?? (process.env['SOAK_SECONDS'] ? Math.floor(Math.random() * 2 ** 31) : 1))

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const shared = ['s0', 's1', 's2', 's3', 's4']

test(`soak: ${seconds} s with the seed ${seed}`, { timeout: (seconds + 90) * 1000 }, async (context) => {
  context.diagnostic(`SOAK_SEED=${seed} SOAK_SECONDS=${seconds}`)
  const roll = dice(seed)
  const below = (n: number) => Math.floor(roll() * n)
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const problems: string[] = []
  const moves: string[] = []
  /** What is known to be on disk. */
  const inserted = new Set<string>()
  const deleted = new Set<string>()
  let made = 0
  const deaths = new Map<Page, number>()

  for (const id of shared) await now.server.foreign(id, { title: id })

  const open = async (): Promise<Page> => {
    const page = await now.chrome.context.newPage()
    page.on('console', (message) => {
      // The browser's own word on an answer that was no success.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) problems.push(`console: ${message.text()}`)
    })
    page.on('pageerror', (error) => problems.push(`page: ${String(error)}`))
    await page.goto(now.server.url)
    await start(page)
    return page
  }
  const start = async (page: Page) => {
    await page.waitForFunction(() => 'lab' in globalThis)
    await page.evaluate(async () => {
      await lab.open({ pull: 100, blind: true, wasm: 'crashable.wasm' })
      await lab.opened.todos.preload()
    })
  }
  /** Does something in a tab that may go away meanwhile. */
  const within = async <T>(page: Page, run: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await run()
    } catch (error) {
      if (page.isClosed() || /closed|crashed|navigat|destroyed/i.test(String(error))) return undefined
      throw error
    }
  }
  const tabs = [await open(), await open(), await open()]

  const edit = async (page: Page) => {
    const id = `t${++made}`
    const mine = [...inserted].filter((one) => !deleted.has(one))
    const kind = pick(['insert', 'insert', 'update', 'update', 'update', 'delete', 'burst', 'move'] as const)
    const target = kind === 'delete' || kind === 'move' ? pick(mine) : pick([...shared, ...mine])
    moves.push(`${kind} ${id} ${target ?? ''}`)
    const stored = await within(page, () => page.evaluate(async ({ kind, id, target }) => {
      const { std, todos } = lab.opened
      const writes: { id: string }[] = []
      if (kind === 'insert') writes.push(todos.insert(lab.todo(id, id)))
      else if (kind === 'burst') {
        writes.push(todos.insert(lab.todo(id, id)))
        for (let n = 0; n < 5; n++) writes.push(todos.update(id, (draft) => void (draft.note = `${n}`)))
      } else if (!target || !todos.has(target)) return false
      else if (kind === 'update') writes.push(todos.update(target, (draft) => void (draft.title = id)))
      else if (kind === 'delete') writes.push(todos.delete(target))
      else writes.push(std.inOrder(() => {
        todos.insert(lab.todo(id, id))
        todos.delete(target)
      }))
      await Promise.all(writes.map((write) => std.outbox.stored(write as never)))
      return true
    }, { kind, id, target }))
    if (!stored) return
    if (kind === 'insert' || kind === 'burst' || kind === 'move') inserted.add(id)
    if ((kind === 'delete' || kind === 'move') && target) deleted.add(target)
  }

  const disturb = async () => {
    const at = below(tabs.length)
    const page = tabs[at] as Page
    const kind = pick(['offline', 'online', 'close', 'reload', 'crash', 'fail', 'drop', 'apply-and-drop', 'hold', 'heal', 'heal', 'module'] as const)
    moves.push(`${kind} ${at}`)
    switch (kind) {
      case 'offline':
      case 'online':
        return within(page, () => page.evaluate((off) => void (lab.network.off = off), kind === 'offline'))
      case 'close':
        await page.close()
        tabs[at] = await open()
        return
      case 'reload':
        await page.reload()
        deaths.delete(page)
        return start(page)
      case 'crash': {
        const session = await now.chrome.context.newCDPSession(page)
        const crashed = new Promise((resolve) => page.once('crash', resolve))
        void session.send('Page.crash').catch(() => undefined)
        await crashed
        await page.close()
        tabs[at] = await open()
        return
      }
      case 'fail':
      case 'drop':
      case 'apply-and-drop':
        return now.server.fault({ path: '/api/todos', mode: kind, times: 1 + below(5) })
      case 'hold':
        // A browser has six connections to a server, and a page has to come over one of them.
        await now.server.heal()
        return now.server.fault({ method: 'PATCH', mode: 'hold', times: 2 })
      case 'heal':
        return now.server.heal()
      case 'module':
        // One that dies three times within a minute stays dead.
        if (deaths.get(page) === 2) return
        deaths.set(page, (deaths.get(page) ?? 0) + 1)
        return page.evaluate(async () => {
          const restarts = () => lab.events.filter(({ type }) => type === 'restarted').length
          const before = restarts()
          dispatchEvent(new Event('outbox-crash'))
          while (restarts() === before) await new Promise((resolve) => setTimeout(resolve, 5))
        })
    }
  }

  const end = Date.now() + seconds * 1000
  while (Date.now() < end) {
    await edit(pick(tabs))
    if (roll() < 0.15) await disturb()
  }

  moves.push('end')
  await now.server.heal()
  await tabs[0]!.evaluate(() => void (lab.network.off = false))
  const story = () => `replay with SOAK_SEED=${seed} SOAK_SECONDS=${seconds}; the last moves: ${moves.slice(-15).join(', ')}`
  await eventually(async () => {
    await tabs[0]!.evaluate(() => lab.opened.std.outbox.drain())
    assert.deepEqual((await entries(tabs[0]!)).map(({ op, key, status, error }) => `${op} ${String(key)} ${status} ${error?.message}`), [], story())
  }, 40_000)
  const rows = (await now.server.todos()).map(({ id, title, done, note }) => ({ id, title, done, note })).sort((a, b) => a.id.localeCompare(b.id))
  for (const page of tabs) {
    await eventually(async () => {
      const shown = await page.evaluate(() => lab.rows(lab.opened.todos).map(({ id, title, done, note }) => ({ id, title, done, note })))
      assert.deepEqual(shown, rows, story())
    }, 10_000)
  }
  const there = new Set(rows.map(({ id }) => id))
  assert.deepEqual([...inserted].filter((id) => !deleted.has(id) && !there.has(id)), [], `stored and lost; ${story()}`)
  assert.deepEqual([...deleted].filter((id) => there.has(id)), [], `deleted and back; ${story()}`)
  const times = new Map<string, number>()
  for (const { key, applied } of await now.server.requests()) if (applied && key) times.set(key, (times.get(key) ?? 0) + 1)
  assert.deepEqual([...times].filter(([, n]) => n > 1), [], `applied twice; ${story()}`)
  assert.deepEqual(problems, [], story())
  context.diagnostic(`${made} edits, ${times.size} requests applied, ${rows.length} rows`)
})
