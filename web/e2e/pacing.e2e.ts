import { assert, stage, test } from './support.js'

const now = stage()

test('without an outbox, pacedUpdate sends at the pace of TanStack\'s strategies', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
      n: number
    }
    const std = createStdSync({ name: 'pacing', platform: lab.memory() })
    const play = async (name: string, pacing?: ReturnType<typeof lab.paceStrategy.debounce>) => {
      const sent: unknown[] = []
      const rows = std.collection<Row, string>({ name, getKey: ({ id }) => id, onInsert: () => undefined, onUpdate: ({ updates }) => void sent.push(updates.n), ...(pacing && { pacing }) })
      await rows.insert({ id: 'a', n: 0 }).isPersisted.promise
      const shown: number[] = []
      const edits = [1, 2, 3].map((n) => {
        const edit = rows.utils.pacedUpdate('a', (draft) => void (draft.n = n))
        shown.push(rows.get('a')!.n)
        return edit
      })
      await Promise.all(edits.map((edit) => edit.isPersisted.promise))
      return { sent, shown }
    }
    return {
      debounce: await play('debounce', lab.paceStrategy.debounce({ wait: 50 })),
      throttle: await play('throttle', lab.paceStrategy.throttle({ wait: 50, leading: true, trailing: true })),
      queue: await play('queue', lab.paceStrategy.queue()),
      none: await play('none'),
    }
  })
  assert.deepEqual(seen.debounce, { sent: [3], shown: [1, 2, 3] })
  assert.deepEqual(seen.throttle.shown, [1, 2, 3])
  assert.deepEqual([seen.throttle.sent[0], seen.throttle.sent.at(-1), seen.throttle.sent.length < 4], [1, 3, true])
  assert.deepEqual(seen.queue, { sent: [1, 2, 3], shown: [1, 2, 3] })
  assert.deepEqual(seen.none, { sent: [1, 2, 3], shown: [1, 2, 3] })
})

test('with an outbox, pacedUpdate is update, and pacing warns once', async () => {
  const page = await now.chrome.tab(now.server.url)
  const warnings: string[] = []
  page.on('console', (message) => message.type() === 'warning' && warnings.push(message.text()))
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const sent: unknown[] = []
    const std = createStdSync({ name: 'pacing', platform: lab.browser(), outbox: true })
    const rows = std.collection<{ id: string; n: number }, string>({
      name: 'rows', getKey: ({ id }) => id, onInsert: () => undefined, onUpdate: ({ updates }) => void sent.push(updates.n), pacing: lab.paceStrategy.debounce({ wait: 60_000 }),
    })
    await std.ready
    const idle = std.collection<{ id: string }, string>({ name: 'idle', getKey: ({ id }) => id, onUpdate: () => undefined })
    const early = await Promise.resolve().then(() => idle.utils.pacedUpdate('a', () => undefined)).then(() => 'accepted', (error: { message: string }) => error.message)
    await std.outbox.delivered(rows.insert({ id: 'a', n: 0 }))
    const edits = [1, 2, 3].map((n) => rows.utils.pacedUpdate('a', (draft) => void (draft.n = n)))
    await Promise.all(edits.map((edit) => std.outbox.stored(edit)))
    await Promise.all(edits.map((edit) => std.outbox.delivered(edit)))
    return { early, sent: sent.at(-1), n: rows.get('a')!.n }
  })
  assert.match(seen.early, /preload/)
  assert.deepEqual([seen.sent, seen.n], [3, 3])
  assert.deepEqual(warnings, ['std.collection(): "rows" has an Outbox, which sends edits of a row together: the option "pacing" does nothing'])
})
