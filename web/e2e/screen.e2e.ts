// What is shown: always the confirmed rows plus what is unsent, without a flicker.
import type { Page } from 'playwright-core'
import { assert, stage, test } from './support.js'

const now = stage()

/**
 * A Collection whose backend a test plays: `push` is what the strategy fetches next,
 * `answer` what the callbacks do.
 */
async function played(): Promise<Page> {
  const page = await now.chrome.tab(now.server.url)
  await open(page)
  return page
}

function open(page: Page) {
  return page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
      n: number
      note?: string
    }
    type Answer = 'away' | 'fail' | Row | undefined
    const pages: { rows: Row[]; deleted: string[] }[] = []
    const events: string[] = []
    let answer: (what: string) => Answer = () => undefined
    const call = async (what: string) => {
      const said = answer(what)
      if (said === 'away') throw new lab.OutboxUnreachable()
      if (said === 'fail') throw new Error('no')
      return said
    }
    const std = createStdSync({ name: 'screen', platform: lab.browser(), outbox: true })
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: ([row]) => call(`insert ${row!.id} ${row!.n}`),
      onUpdate: ({ current, updates }) => call(`update ${current.id} ${updates.n}`),
      onDelete: ({ current }) => call(`delete ${current.id}`),
      sync: lab.syncStrategy.pull<Row>({ every: 10, fetch: async ({ cursor }) => ({ ...(pages.shift() ?? { rows: [], deleted: [] }), cursor: (cursor ?? 0) + 1 }) }),
    })
    rows.subscribeChanges((changes) => changes.forEach(({ type, key, value }) => events.push(`${type} ${key}${value.n}${value.note ?? ''}${value.$hasPendingWrites ? '*' : ''}`)), { includeInitialState: false })
    await std.ready
    const settle = () => new Promise((resolve) => setTimeout(resolve, 60))
    const kit = {
      std, rows, events, settle,
      shown: () => [...rows.values()].map(({ id, n, note }) => `${id}${n}${note ?? ''}`).sort().join(' '),
      /** The backend's rows change under us. */
      push: async (changed: Row[], deleted: string[] = []) => {
        pages.push({ rows: changed, deleted })
        while (pages.length > 0) await new Promise((resolve) => setTimeout(resolve, 5))
        await settle()
      },
      answers: (how: typeof answer) => void (answer = how),
      set: (id: string, n: number) => rows.update(id, (draft) => void (draft.n = n)),
      stored: (edit: { id: string }) => std.outbox.stored(edit as never),
      outcome: (edit: unknown) => std.outbox.delivered(edit as never).then(() => 'delivered', (error: { code: string }) => error.code),
      away: () => 'away' as const,
      drain: () => std.outbox.drain(),
    }
    Object.assign(lab, { kit, opened: kit })
    return kit.shown()
  })
}

type Kit = any

const play = <T>(page: Page, run: (kit: Kit) => Promise<T>): Promise<T> => page.evaluate(`(${run.toString()})(lab.kit)`) as Promise<T>

test('an earlier edit that is refused leaves the screen, and the later one stays', async () => {
  const page = await played()
  const seen = await play(page, async ({ rows, push, answers, set, stored, outcome, shown, away, drain, std }) => {
    await push([{ id: 'a', n: 0, note: '' }])
    answers(away)
    const first = set('a', 1)
    await stored(first)
    while (std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 5))
    const second = rows.update('a', (draft: any) => void (draft.note = 'mine'))
    await stored(second)
    const both = shown()
    answers((what: string) => (what === 'update a 1' ? 'fail' : 'away'))
    drain()
    const refused = await outcome(first)
    const left = shown()
    answers(() => undefined)
    drain()
    return [both, refused, left, await outcome(second), shown()]
  })
  assert.deepEqual(seen, ['a1mine', 'failed', 'a0mine', 'delivered', 'a0mine'])
})

test('a refused insert leaves no ghost, whatever was edited on top of it', async () => {
  const page = await played()
  const seen = await play(page, async ({ rows, answers, set, stored, outcome, shown, away, drain, std, events, settle }) => {
    answers(away)
    const insert = rows.insert({ id: 'a', n: 0 })
    await stored(insert)
    while (std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 5))
    const edits = [set('a', 1), set('a', 2)]
    await Promise.all(edits.map(stored))
    answers(() => 'fail')
    drain()
    const outcomes = await Promise.all([insert, ...edits].map(outcome))
    await settle()
    return { outcomes, shown: shown(), last: events.at(-1), ghost: rows.has('a') }
  })
  assert.deepEqual(seen, { outcomes: ['failed', 'failed', 'failed'], shown: '', last: 'delete a2*', ghost: false })
})

test('a foreign delete under an edit that waits: the edit stays until the backend has spoken, and then it is as the backend says', async () => {
  const page = await played()
  const seen = await play(page, async ({ push, answers, set, stored, outcome, shown, away, drain }) => {
    await push([{ id: 'a', n: 0, note: 'x' }, { id: 'b', n: 0, note: 'x' }])
    answers(away)
    const [a, b] = [set('a', 1), set('b', 1)]
    await Promise.all([a, b].map(stored))
    await push([], ['a', 'b'])
    const meanwhile = shown()
    // One backend refuses the update of what is gone, the other makes the row anew.
    answers((what: string) => (what.startsWith('update a') ? 'fail' : undefined))
    drain()
    return [meanwhile, await outcome(a), await outcome(b), shown()]
  })
  assert.deepEqual(seen, ['a1x b1x', 'failed', 'delivered', 'b1x'])
})

test('a foreign insert under an insert that waits: ours is shown over theirs, and theirs alone when ours is refused', async () => {
  const page = await played()
  const seen = await play(page, async ({ rows, push, answers, stored, outcome, shown, away, drain, events }) => {
    answers(away)
    const [a, b] = [rows.insert({ id: 'a', n: 1 }), rows.insert({ id: 'b', n: 1 })]
    await Promise.all([a, b].map(stored))
    await push([{ id: 'a', n: 5, note: 'theirs' }, { id: 'b', n: 5, note: 'theirs' }])
    const meanwhile = shown()
    answers((what: string) => (what.startsWith('insert a') ? 'fail' : { id: 'b', n: 1, note: 'merged' }))
    drain()
    const outcomes = [await outcome(a), await outcome(b)]
    return { meanwhile, outcomes, shown: shown(), events: events.filter((event: string) => event.startsWith('delete')) }
  })
  assert.deepEqual(seen, { meanwhile: 'a1theirs b1theirs', outcomes: ['failed', 'delivered'], shown: 'a5theirs b1merged', events: [] })
})

test('a foreign delete of a row whose delete waits, and a foreign change of it, show nothing', async () => {
  const page = await played()
  const seen = await play(page, async ({ rows, push, answers, stored, outcome, shown, away, drain, events }) => {
    await push([{ id: 'a', n: 0 }, { id: 'b', n: 0 }])
    answers(away)
    const [a, b] = [rows.delete('a'), rows.delete('b')]
    await Promise.all([a, b].map(stored))
    events.length = 0
    await push([{ id: 'b', n: 7 }], ['a'])
    const meanwhile = [shown(), events.length]
    answers((what: string) => (what === 'delete b' ? 'fail' : undefined))
    drain()
    return [...meanwhile, await outcome(a), await outcome(b), shown(), events]
  })
  assert.deepEqual(seen, ['', 0, 'delivered', 'failed', 'b7', ['insert b7']])
})

// Each row of the table: what is done, and every change a subscriber is told of.
const table: { name: string; run: (kit: Kit) => Promise<unknown>; events: string[] }[] = [
  { name: 'insert, confirmed as it was', run: async ({ rows, outcome }) => outcome(rows.insert({ id: 'n', n: 1 })), events: ['insert n1*', 'update n1'] },
  { name: 'insert, confirmed with a changed row', run: async ({ rows, outcome, answers }) => (answers(() => ({ id: 'n', n: 1, note: 'server' })), outcome(rows.insert({ id: 'n', n: 1 }))), events: ['insert n1*', 'update n1server'] },
  { name: 'update, confirmed as it was', run: async ({ set, outcome }) => outcome(set('a', 1)), events: ['update a1*', 'update a1'] },
  { name: 'update, confirmed with a changed row', run: async ({ set, outcome, answers }) => (answers(() => ({ id: 'a', n: 9, note: 'server' })), outcome(set('a', 1))), events: ['update a1*', 'update a9server'] },
  { name: 'delete, confirmed', run: async ({ rows, outcome }) => outcome(rows.delete('a')), events: ['delete a0'] },
  { name: 'insert, refused', run: async ({ rows, outcome, answers }) => (answers(() => 'fail'), outcome(rows.insert({ id: 'n', n: 1 }))), events: ['insert n1*', 'delete n1*'] },
  { name: 'update, refused', run: async ({ set, outcome, answers }) => (answers(() => 'fail'), outcome(set('a', 1))), events: ['update a1*', 'update a0'] },
  { name: 'delete, refused', run: async ({ rows, outcome, answers }) => (answers(() => 'fail'), outcome(rows.delete('a'))), events: ['delete a0', 'insert a0'] },
  {
    name: 'three updates that are delivered as two Requests',
    run: async ({ set, outcome }) => Promise.all([set('a', 1), set('a', 2), set('a', 3)].map(outcome)),
    events: ['update a1*', 'update a2*', 'update a3*', 'update a3'],
  },
  {
    name: 'a foreign change of another row while an edit waits',
    run: async ({ set, stored, push, answers, away }) => (answers(away), await stored(set('a', 1)), push([{ id: 'b', n: 5 }])),
    events: ['update a1*', 'insert b5'],
  },
  {
    name: 'a foreign change of the edited row while its edit waits',
    run: async ({ set, stored, push, answers, away }) => (answers(away), await stored(set('a', 1)), push([{ id: 'a', n: 7, note: 'theirs' }])),
    events: ['update a1*', 'update a1theirs*'],
  },
  {
    name: 'an edit that was away, delivered later',
    run: async ({ set, stored, outcome, answers, away, drain }) => {
      answers(away)
      const edit = set('a', 1)
      await stored(edit)
      answers(() => undefined)
      drain()
      return outcome(edit)
    },
    events: ['update a1*', 'update a1'],
  },
  {
    name: 'an edit of a row while an earlier one is delivered',
    run: async ({ set, outcome, answers }) => {
      let second: unknown
      answers((what: string) => void (what === 'update a 1' && (second = set('a', 2))))
      await outcome(set('a', 1))
      return outcome(second)
    },
    events: ['update a1*', 'update a2*', 'update a2'],
  },
  {
    name: 'a discard',
    run: async ({ std, set, stored, answers, away, settle }) => {
      answers(away)
      const edit = set('a', 1)
      await stored(edit)
      while (std.outbox.status().pending !== 1 || std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 5))
      await std.outbox.discard(edit.id)
      await settle()
    },
    events: ['update a1*', 'update a0'],
  },
  {
    name: 'a reset',
    run: async ({ std, set, stored, answers, away, settle }) => {
      answers(away)
      await stored(set('a', 1))
      await std.reset()
      await settle()
    },
    events: ['update a1*', 'delete a1*'],
  },
]

test('no flicker: every change a subscriber is told of, over insert, update, delete, confirmation, refusal, discard and reset', async () => {
  for (const { name, run, events } of table) {
    const page = await played()
    await play(page, async ({ push, events }) => {
      await push([{ id: 'a', n: 0 }])
      events.length = 0
    })
    await play(page, run)
    const told = (await play(page, async ({ events, settle }) => (await settle(), events))) as string[]
    assert.deepEqual(told, events, name)
    await page.evaluate(() => lab.opened.std.reset()).catch(() => undefined)
    await page.close()
  }
})

test('no flicker: a replay shows each row once, as it was left', async () => {
  const page = await played()
  await play(page, async ({ rows, push, answers, set, stored, away }) => {
    await push([{ id: 'a', n: 0, note: 'x' }, { id: 'b', n: 0 }])
    answers(away)
    set('a', 1)
    set('a', 2)
    rows.delete('b')
    rows.insert({ id: 'c', n: 3 })
    await stored(set('c', 4))

  })
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  assert.equal(await open(page), 'a2x c4')
  const told = await play(page, async ({ events, answers, std, settle }) => {
    answers(() => undefined)
    while (std.outbox.status().pending + std.outbox.status().inRequest > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await settle()
    return events
  })
  const at = (row: string) => (told as string[]).filter((event) => event.includes(` ${row}`))
  assert.deepEqual([at('a'), at('b'), at('c')], [['insert a2x*', 'update a2x'], [], ['insert c4*', 'update c4']])
})
