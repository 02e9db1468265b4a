// Lines of the contract that are nobody else's.
import { assert, eventually, stage, test } from './support.js'

const now = stage()

for (const platform of ['browser', 'memory'] as const) {
  test(`a reset counts what was written in the same task: ${platform}`, async () => {
    const page = await now.chrome.tab(now.server.url)
    const seen = await page.evaluate(async (platform) => {
      const { std, rows, outcome, flown, shown } = await lab.scripted({ platform: lab[platform]() })
      await std.ready
      await std.outbox.pause()
      const first = outcome(std.outbox.delivered(rows.insert({ id: 'a', n: 1 })))
      const refused = await outcome(std.reset({ unsent: 'refuse' }))
      const second = outcome(std.outbox.delivered(rows.insert({ id: 'b', n: 2 })))
      const dropped = await std.reset()
      return { refused, dropped, outcomes: [await first, await second], flown, shown: shown() }
    }, platform)
    assert.deepEqual(seen, { refused: 'unsent', dropped: { dropped: 2 }, outcomes: ['reset', 'reset'], flown: [], shown: [] })
  })
}

test('delivered of a call that wrote nothing waits for the backend, as the call\'s own does', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { std, outcome } = await lab.scripted()
    const act = std.createOfflineAction<boolean>({ name: 'quiet', onMutate: () => undefined, mutationFn: (good) => { if (!good) throw new Error('no') } })
    await std.ready
    const [bad, good] = [act(false), act(true)]
    return [await outcome(std.outbox.delivered(bad)), await outcome(bad.delivered), await outcome(std.outbox.delivered(good))]
  })
  assert.deepEqual(seen, ['failed', 'failed', 'delivered'])
})

for (const how of ['collectionOptions', 'wrap'] as const) {
  test(`boot collections made with ${how} are on screen at ready, and actions are replayed over them`, async () => {
    const page = await now.chrome.tab(now.server.url)
    const open = (offline: boolean) => page.evaluate(async ({ how, offline }) => {
      const { createStdSync } = await lab.load()
      const std = createStdSync({ name: 'boot', platform: lab.browser({ connectivity: { isOnline: () => !offline, subscribe: () => () => undefined } }), outbox: true, onEvent: (event) => void lab.events.push(event) })
      interface Row {
        id: string
        n: number
      }
      const getKey = ({ id }: Row) => id
      const away = () => {
        if (offline) throw new lab.OutboxUnreachable()
      }
      const rows = how === 'wrap'
        ? lab.db.createCollection(std.wrap({ id: 'boot', getKey, onInsert: async () => undefined, onUpdate: async () => away(), sync: { sync: (params: any) => {
          // The source comes late.
          setTimeout(() => {
            params.begin()
            params.write({ type: 'insert', value: { id: 'a', n: 0 } })
            params.commit()
            params.markReady()
          }, 200)
        } } }, { name: 'rows' }))
        : lab.db.createCollection(std.collectionOptions({ name: 'rows', getKey, onInsert: () => undefined, onUpdate: away }) as never)
      const act = std.createOfflineAction<string>({ name: 'act', onMutate: (id) => void (rows as any).update(id, (draft: Row) => void (draft.n = 99)), mutationFn: away })
      await std.ready
      const shown = () => [...(rows as any).values()].map(({ id, n }: Row) => `${id} ${n}`)
      Object.assign(lab, { shown, act, opened: { std, rows } })
      return shown()
    }, { how, offline })
    await open(false)
    if (how === 'wrap') await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)))
    else await page.evaluate(() => lab.opened.std.outbox.delivered((lab.opened as any).rows.insert({ id: 'a', n: 0 })))
    await page.evaluate(() => lab.opened.std.dispose())
    await page.reload()
    await page.waitForFunction(() => 'lab' in globalThis)
    await open(true)
    await eventually(async () => assert.deepEqual(await page.evaluate(() => (lab as any).shown()), ['a 0']))
    await page.evaluate(() => lab.opened.std.outbox.stored((lab as any).act('a')))
    await page.reload()
    await page.waitForFunction(() => 'lab' in globalThis)
    const atReady = await open(true)
    if (how === 'collectionOptions') assert.deepEqual(atReady, ['a 99'])
    await eventually(async () => assert.deepEqual(await page.evaluate(() => (lab as any).shown()), ['a 99'], 'the call is shown when its row is there'))
    assert.equal(await page.evaluate(() => lab.events.filter(({ type, name }) => type === 'replayed' && name === 'action:act').length), 1)
  })
}

test('an Event of a failure has its code, its Entry and its cause', async () => {
  const page = await now.chrome.tab(now.server.url)
  const events = await page.evaluate(async () => {
    const { std, rows, say, outcome } = await lab.scripted()
    await std.ready
    say('a', 'fail')
    say('b', 'away')
    const bad = rows.insert({ id: 'a', n: 1 })
    await outcome(std.outbox.delivered(bad))
    await std.outbox.stored(rows.insert({ id: 'b', n: 1 }))
    while (std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 5))
    return lab.events.filter(({ type }) => type === 'failed' || type === 'unreachable').map(({ type, error, entryIds }) => [type, error!.name, error!.code, error!.entryId === entryIds![0], (error!.cause as Error).message])
  })
  assert.deepEqual(events, [
    ['failed', 'OutboxError', 'failed', true, 'no insert a 1'],
    ['unreachable', 'OutboxError', 'failed', true, 'the backend cannot be reached'],
  ])
})

test('after a dispose nothing more can be made, and nothing hangs', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { std } = await lab.scripted()
    await std.ready
    await std.dispose()
    await std.dispose()
    const code = (run: () => unknown) => {
      try {
        run()
      } catch (error) {
        return (error as { code: string }).code
      }
      return 'accepted'
    }
    await std.outbox.entity.preload()
    return [
      code(() => std.collection({ name: 'x', getKey: () => 'x' })),
      code(() => std.wrap({ getKey: () => 'x', sync: { sync: () => undefined } }, { name: 'x' })),
      code(() => std.createOfflineAction({ name: 'x', onMutate: () => undefined, mutationFn: () => undefined })),
    ]
  })
  assert.deepEqual(seen, ['disposed', 'disposed', 'disposed'])
})

test('a request that a reset aborts is told that it was a reset', async () => {
  const page = await now.chrome.tab(now.server.url)
  const reason = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'reset', platform: lab.memory(), outbox: true })
    let begun!: () => void
    const flying = new Promise<void>((resolve) => (begun = resolve))
    let signal!: AbortSignal
    const rows = std.collection<{ id: string }, string>({ name: 'rows', getKey: ({ id }) => id, onInsert: (_, request) => {
      signal = request.signal
      begun()
      return new Promise(() => undefined)
    } })
    await std.ready
    rows.insert({ id: 'a' })
    await flying
    await std.reset()
    return (signal.reason as { code: string }).code
  })
  assert.equal(reason, 'reset')
})

test('options that look right and are not are refused', async () => {
  const page = await now.chrome.tab(now.server.url)
  const messages = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const message = (run: () => unknown) => {
      try {
        run()
      } catch (error) {
        return `${(error as { code: string }).code}: ${(error as Error).message}`
      }
      return 'accepted'
    }
    const std = createStdSync({ name: 'options', platform: lab.memory(), outbox: true })
    const getKey = () => 'x'
    const other = await lab.load().then(() => lab.loadOutbox({ db: { ...lab.db, createTransaction: () => undefined } as never })).then(() => 'accepted', (error: Error) => error.message)
    return [
      message(() => createStdSync({ name: 'y', platform: { kind: 'sqlite' } as never })),
      message(() => createStdSync({ name: 'y', platform: {} as never })),
      message(() => createStdSync({ name: 'y', version: 1.5 })),
      message(() => createStdSync({ name: 'y', version: NaN })),
      message(() => std.collection({ name: '', getKey })),
      message(() => std.collection({ name: 'x', getKey, sync: { fetch: () => undefined, every: 1 } as never })),
      message(() => std.collection({ name: 'x', getKey, pacing: { wait: 1 } as never })),
      message(() => std.collection({ name: 'x', getKey, request: null as never })),
      message(() => std.inOrder((async () => undefined) as never)),
      other,
    ]
  })
  const expected = [/"platform" must be made by browser\(\) or memory\(\)/, /"platform" must be made by/, /"version" must be a whole number, not 1.5/, /not NaN/, /"name" is empty/, /"sync" must be made by syncStrategy.pull\(\)/, /"pacing" must be made by/, /"request" must be a object, not null/, /must make its writes at once/, /another copy of @tanstack\/db/]
  expected.forEach((one, n) => assert.match(messages[n]!, one))
})
