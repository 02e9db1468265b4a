import { applied, assert, entries, stage, test } from './support.js'

const now = stage()

test('a request that has no answer in time is aborted, keeps its key, and is sent again', async () => {
  await now.server.fault({ method: 'POST', mode: 'hold', times: 1 })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'timeout', platform: lab.browser(), outbox: true, onEvent: (event) => void lab.events.push(event) })
    const todos = std.collection<ReturnType<typeof lab.todo>, string>({ name: 'todos', getKey: ({ id }) => id, request: { timeout: 300 }, onInsert: ([todo], request) => lab.api.create(todo!, request) })
    Object.assign(lab, { opened: { std, todos } })
    await std.ready
    await std.outbox.delivered(todos.insert(lab.todo('a', 'a')))
  })
  const requests = await now.server.requests()
  assert.deepEqual(applied(requests), ['POST /api/todos'])
  assert.equal(new Set(requests.map(({ key }) => key)).size, 1)
  const events = await page.evaluate(() => lab.events.filter(({ type }) => ['flown', 'unreachable', 'delivered', 'failed'].includes(type)).map(({ type, attempt, error }) => `${type} ${attempt} ${error?.message ?? ''}`))
  assert.deepEqual(events, ['flown 1 ', 'unreachable 1 no answer within 300 ms', 'flown 2 ', 'delivered 2 '])
  assert.deepEqual(await entries(page), [])
})

test('what a late callback answers is nobody\'s, its signal is aborted, and an action has a timeout too', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: 'timeout', platform: lab.memory(), outbox: true })
    const log: string[] = []
    const late: (() => void)[] = []
    const answer = (name: string) => async (_: unknown, { signal, attempt }: { signal: AbortSignal; attempt: number }) => {
      signal.addEventListener('abort', () => log.push(`${name} aborted ${attempt} ${(signal.reason as Error).name}`))
      if (attempt === 1) {
        await new Promise<void>((resolve) => late.push(resolve))
        throw new Error('too late to fail')
      }
      log.push(`${name} ${attempt}`)
    }
    const rows = std.collection<{ id: string }, string>({ name: 'rows', getKey: ({ id }) => id, request: { timeout: 50 }, onInsert: answer('row') })
    const act = std.createOfflineAction<void>({ name: 'act', request: { timeout: 50 }, onMutate: () => undefined, mutationFn: answer('act') })
    await std.ready
    const both = [std.outbox.delivered(rows.insert({ id: 'a' })), act().delivered]
    while (log.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    late.forEach((resolve) => resolve())
    std.outbox.drain()
    await Promise.all(both)
    const refused: string[] = []
    for (const request of [{ timeout: 0 }, { timeout: NaN }, { timeout: '5' }, { timeOut: 5 }]) {
      try {
        std.collection({ name: 'x', getKey: () => 'x', request: request as never })
      } catch (error) {
        refused.push((error as Error).message)
      }
    }
    return { log: log.sort(), refused }
  })
  assert.deepEqual(seen.log, ['act 2', 'act aborted 1 OutboxUnreachable', 'row 2', 'row aborted 1 OutboxUnreachable'])
  assert.equal(seen.refused.length, 4)
  assert.match(seen.refused[0]!, /"timeout" must be a positive number of milliseconds/)
  assert.match(seen.refused[3]!, /unknown option "timeOut"; known are timeout/)
})
