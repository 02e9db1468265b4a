import { assert, stage, test } from './support.js'

const now = stage()

test('effects that callbacks return are run, and what they fail with counts', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { Context, Data, Effect, Layer, ManagedRuntime } = lab.effect
    class Api extends Context.Service<Api, { send(what: string): void }>()('Api') {}
    class Away extends Data.TaggedError('OutboxUnreachable')<{}> {}
    class Refused extends Data.TaggedError('Refused')<{ message: string }> {}
    const sent: string[] = []
    const runtime = ManagedRuntime.make(Layer.succeed(Api, { send: (what) => void sent.push(what) }))
    const { createStdSync } = await lab.load()
    interface Row {
      id: string
      n: number
    }
    let away = true
    const std = createStdSync({ name: 'effects', platform: lab.memory(), outbox: true, runtime })
    const rows = std.collection<Row, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: ([row], { idempotencyKey }) => Effect.gen(function* () {
        if (row!.id === 'bad') return yield* new Refused({ message: 'no' })
        if (away) return yield* new Away()
        const api = yield* Api
        api.send(`insert ${row!.id} ${idempotencyKey.length}`)
        return { ...row!, n: 7 }
      }),
      onUpdate: () => Effect.die(new Error('a defect')),
      sync: lab.syncStrategy.pull<Row>({ every: 60_000, fetch: () => Effect.succeed({ rows: [{ id: 'fetched', n: 1 }], cursor: 1 }) as never }),
    })
    const act = std.createOfflineAction<string>({ name: 'act', onMutate: () => undefined, mutationFn: (what) => Effect.flatMap(Api, (api) => Effect.sync(() => api.send(`act ${what}`))) })
    const aside = std.collection<Row, string>({ name: 'aside', getKey: ({ id }) => id, outbox: false, onInsert: ([row]) => Effect.fail(new Refused({ message: `aside ${row!.id}` })) })
    await std.ready
    const outcome = (promise: Promise<unknown>) => promise.then(() => 'delivered', (error: { code?: string; message: string; cause?: { _tag?: string; message?: string } }) => `${error.code} ${error.cause?._tag ?? error.cause?.message ?? error.message}`)
    const bad = await outcome(std.outbox.delivered(rows.insert({ id: 'bad', n: 1 })))
    const edit = rows.insert({ id: 'a', n: 1 })
    await std.outbox.stored(edit)
    while (std.outbox.status().waitingFor !== 'backoff') await new Promise((resolve) => setTimeout(resolve, 10))
    away = false
    std.outbox.drain()
    await std.outbox.delivered(edit)
    await act('now').delivered
    const died = await outcome(std.outbox.delivered(rows.update('a', (draft) => void (draft.n = 8))))
    const direct = await aside.insert({ id: 'x', n: 1 }).isPersisted.promise.then(() => 'delivered', (error: { _tag: string; message: string }) => `${error._tag} ${error.message}`)
    return { bad, died, direct, sent, rows: [...rows.values()].map(({ id, n }) => [id, n]).sort() }
  })
  assert.equal(seen.bad, 'failed Refused')
  assert.equal(seen.died, 'failed a defect')
  assert.equal(seen.direct, 'Refused aside x', 'without an Outbox the error is as it was thrown')
  assert.deepEqual(seen.sent, ['insert a 36', 'act now'])
  assert.deepEqual(seen.rows, [['a', 7], ['fetched', 1]])
})

test('an effect is interrupted when its request is aborted', async () => {
  const page = await now.chrome.tab(now.server.url)
  const interrupted = await page.evaluate(async () => {
    const { Effect } = lab.effect
    const { createStdSync } = await lab.load()
    let stop!: () => void
    const stopped = new Promise<boolean>((resolve) => (stop = () => resolve(true)))
    let begin!: () => void
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const std = createStdSync({ name: 'effects', platform: lab.memory(), outbox: true, runtime: { runPromise: Effect.runPromise as never } })
    const rows = std.collection<{ id: string }, string>({
      name: 'rows', getKey: ({ id }) => id,
      onInsert: () => Effect.onInterrupt(Effect.andThen(Effect.sync(begin), Effect.never), () => Effect.sync(stop)),
    })
    await std.ready
    rows.insert({ id: 'a' })
    await begun
    await std.dispose()
    return stopped
  })
  assert.equal(interrupted, true)
})

test('an action payload and a codec of Effect Schema are stored encoded', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { Schema } = lab.effect
    const { createStdSync } = await lab.load()
    const Row = Schema.Struct({ id: Schema.String, at: Schema.DateFromString })
    const Payload = Schema.Struct({ id: Schema.String, at: Schema.DateFromString })
    const got: string[] = []
    const std = createStdSync({ name: 'effects', platform: lab.browser(), outbox: true })
    const rows = std.collection<typeof Row.Type, string>({
      name: 'rows', getKey: ({ id }) => id,
      codec: { encode: Schema.encodeSync(Row), decode: Schema.decodeSync(Row) },
      onInsert: ([row]) => {
        if (!(row!.at instanceof Date)) throw new Error('not decoded')
        throw new lab.OutboxUnreachable()
      },
    })
    const act = std.createOfflineAction({ name: 'act', payload: Schema.toStandardSchemaV1(Payload), onMutate: ({ at }) => void got.push(`mutate ${at.toISOString()}`), mutationFn: ({ at }) => { got.push(`send ${at.toISOString()}`); throw new lab.OutboxUnreachable() } })
    await std.ready
    const at = '2026-01-02T03:04:05.000Z'
    await std.outbox.stored(rows.insert({ id: 'a', at: new Date(at) }))
    await std.outbox.stored(act({ id: 'a', at }))
    const records = (await lab.records('std-sync'))['entries']!.map(({ changes, payload }) => changes ?? payload)
    while (got.length < 2) await new Promise((resolve) => setTimeout(resolve, 10))
    return { records, got }
  })
  assert.deepEqual(seen.records, [{ id: 'a', at: '2026-01-02T03:04:05.000Z' }, { id: 'a', at: '2026-01-02T03:04:05.000Z' }])
  assert.deepEqual(seen.got, ['mutate 2026-01-02T03:04:05.000Z', 'send 2026-01-02T03:04:05.000Z'])
})
