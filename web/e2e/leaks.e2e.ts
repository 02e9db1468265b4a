import { assert, stage, test } from './support.js'

const now = stage()

test('after 10,000 edits delivered, js.Funcs, goroutines and memory are back to where they were', async () => {
  const page = await now.chrome.tab(now.server.url)
  const seen = await page.evaluate(async () => {
    const { createStdSync } = await lab.load('crashable.wasm')
    const std = createStdSync({ name: 'leaks', platform: lab.browser(), outbox: true })
    const rows = std.collection<{ id: string; n: number }, string>({ name: 'rows', getKey: ({ id }) => id, onInsert: () => undefined, onUpdate: () => undefined })
    await std.ready
    const ids = Array.from({ length: 500 }, (_, n) => `r${n}`)
    await std.outbox.delivered(rows.insert(ids.map((id) => ({ id, n: 0 }))))
    const measure = async () => {
      // Values that JavaScript has dropped are given back by finalizers, in turns of their own.
      const detail = {} as { funcs: number; goroutines: number; heap: number; memory: number }
      for (let turn = 0; turn < 5; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        dispatchEvent(new CustomEvent('outbox-measure', { detail }))
      }
      return detail
    }
    const round = async (n: number) => {
      const edits = Array.from({ length: 10 }, (_, at) => rows.update(ids.slice(50 * at, 50 * at + 50), (drafts) => drafts.forEach((draft) => void (draft.n = n))))
      await Promise.all(edits.map((edit) => std.outbox.delivered(edit)))
    }
    await round(1)
    const before = await measure()
    for (let n = 2; n <= 21; n++) await round(n)
    return { before, after: await measure(), left: std.outbox.status().pending }
  })
  const { before, after } = seen
  assert.equal(seen.left, 0)
  assert.ok(after.funcs <= before.funcs + 2, `js.Funcs: ${before.funcs}, then ${after.funcs}`)
  assert.ok(after.goroutines <= before.goroutines + 2, `goroutines: ${before.goroutines}, then ${after.goroutines}`)
  assert.ok(after.heap <= before.heap + (1 << 20), `heap: ${before.heap}, then ${after.heap}`)
  assert.ok(after.memory <= 2 * before.memory, `memory: ${before.memory}, then ${after.memory}`)
})
