// docs/stories, step by step.
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { applied, assert, entries, eventually, stage, test, titles } from './support.js'

const now = stage()

/** A page of docs/stories as a test: its numbered steps are the names of these. */
function story(page: string, steps: Record<string, () => Promise<void>>): void {
  const text = readFileSync(new URL(`../../docs/stories/${page}.md`, import.meta.url), 'utf8')
  const title = /^# (.+)$/m.exec(text)?.[1]
  test(`story: ${title}`, async (context) => {
    assert.deepEqual([...text.matchAll(/^\d+\. (.+)$/gm)].map(([, step]) => step), Object.keys(steps))
    for (const [step, run] of Object.entries(steps)) {
      context.diagnostic(step)
      await run()
    }
  })
}

async function reopened(page: Page, pull: number): Promise<Page> {
  await page.reload()
  await page.waitForFunction(() => 'lab' in globalThis)
  await page.evaluate((pull) => lab.open({ pull }), pull)
  return page
}

/** A tab with these todos of the server on screen. */
async function tabWith(...ids: string[]): Promise<Page> {
  for (const id of ids) await now.server.foreign(id, { title: id })
  const page = await now.chrome.tab(now.server.url)
  await page.evaluate(() => lab.open({ pull: 300 }))
  await eventually(async () => assert.deepEqual(Object.keys(await titles(page)), ids))
  return page
}

const status = (page: Page) => page.evaluate(() => lab.opened.std.outbox.status())

{
  let page: Page
  const asLeft = { a: 'a', milk: 'buy oat milk' }
  story('fast-edits-offline', {
    'The network goes, and Ada goes on: she writes a todo, corrects it twice, ticks off another, and deletes a third.': async () => {
      page = await tabWith('a', 'b')
      await page.evaluate(async () => {
        lab.network.off = true
        const { std, todos } = lab.opened
        todos.insert(lab.todo('milk', 'buy milk'))
        todos.update('milk', (draft) => void (draft.title = 'buy oat'))
        todos.update('milk', (draft) => void (draft.title = 'buy oat milk'))
        todos.update('a', (draft) => void (draft.done = true))
        await std.outbox.stored(todos.delete('b'))
      })
    },
    'All of it is on screen at once, and `std.outbox.status()` says five writes wait for `online`.': async () => {
      assert.deepEqual(await titles(page), asLeft)
      const { pending, waitingFor } = await status(page)
      assert.deepEqual({ pending, waitingFor }, { pending: 5, waitingFor: 'online' })
    },
    'She reloads the page: the list is as she left it, before any server has answered.': async () => {
      await reopened(page, 300)
      assert.deepEqual(await titles(page), asLeft)
      assert.deepEqual(await now.server.requests(), [])
    },
    'She closes the tab, and opens a new one: the list is still as she left it.': async () => {
      await page.close()
      page = await now.chrome.tab(now.server.url)
      await page.evaluate(() => lab.open({ pull: 300 }))
      assert.deepEqual(await titles(page), asLeft)
    },
    'The network is back: the server gets three requests, one for each row, the new todo as she last wrote it.': async () => {
      await page.evaluate(() => void (lab.network.off = false))
      await eventually(async () => assert.equal((await now.server.requests()).length, 3))
      const requests = await now.server.requests()
      assert.deepEqual(applied(requests).sort(), ['DELETE /api/todos/b', 'PATCH /api/todos/a', 'POST /api/todos'])
      assert.equal(requests.find(({ method }) => method === 'POST')?.body?.title, 'buy oat milk')
    },
    'Nothing waits any more, the list did not move, and the server\'s rows are what she sees.': async () => {
      await eventually(async () => assert.deepEqual(await entries(page), []))
      assert.deepEqual(await titles(page), asLeft)
      assert.deepEqual((await now.server.todos()).map(({ id, title, done }) => [id, title, done]), [['a', 'a', true], ['milk', 'buy oat milk', false]])
    },
  })
}

{
  let page: Page
  let refused: string
  story('a-refused-write', {
    'Ada makes a todo where she may not write yet, and corrects another: both show at once.': async () => {
      page = await tabWith('a')
      await now.server.fault({ method: 'POST', mode: 'fail', status: 403 })
      refused = await page.evaluate(() => {
        const { std, todos } = lab.opened
        const made = todos.insert(lab.todo('b', 'b'))
        todos.update('a', (draft) => void (draft.title = 'corrected'))
        Object.assign(lab, { outcome: std.outbox.delivered(made).then(() => 'delivered', ({ code, entryId, cause }: { code: string; entryId: string; cause: Error }) => [code, entryId, `${cause.name}: ${cause.message}`]) })
        return made.id
      })
      assert.deepEqual(await titles(page), { a: 'corrected', b: 'b' })
    },
    'The server refuses the first: it leaves the screen, and its promise rejects with `failed`, the server\'s words, and the id of the Entry.': async () => {
      assert.deepEqual(await page.evaluate(() => (lab as never as { outcome: Promise<unknown> }).outcome), ['failed', refused, 'Refused: fault'])
      assert.deepEqual(await titles(page), { a: 'corrected' })
    },
    'The app lists `std.outbox.entity`: the refused write is there with what it held, and the other has been delivered.': async () => {
      await eventually(async () => assert.equal((await entries(page)).length, 1))
      const [entry] = await page.evaluate(() => [...lab.opened.std.outbox.entity.values()].map(({ id, status, changes }) => ({ id, status, changes })))
      assert.deepEqual([entry?.id, entry?.status, (entry?.changes as { title: string }).title], [refused, 'failed', 'b'])
      assert.deepEqual((await now.server.todos()).map(({ title }) => title), ['corrected'])
    },
    'She is given the right to write, and retries: the todo is back on screen, and is sent under a new key.': async () => {
      await now.server.heal()
      await page.evaluate((id) => lab.opened.std.outbox.retry(id), refused)
      await eventually(async () => assert.deepEqual(await entries(page), []))
      assert.deepEqual(await titles(page), { a: 'corrected', b: 'b' })
      const keys = (await now.server.requests()).filter(({ method }) => method === 'POST').map(({ key }) => key)
      assert.deepEqual([keys.length, new Set(keys).size], [2, 2])
    },
    'She makes another one without a title, which is refused too, and discards it: nothing is left of it, in a second tab either.': async () => {
      const other = await now.chrome.tab(now.server.url)
      await other.evaluate(() => lab.open({ pull: 300 }))
      await page.evaluate(() => lab.opened.std.outbox.delivered(lab.opened.todos.insert(lab.todo('c', ' '))).catch(() => undefined))
      await eventually(async () => assert.equal((await entries(other)).length, 1))
      await page.evaluate(() => lab.opened.std.outbox.discard([...lab.opened.std.outbox.entity.keys()][0]!))
      for (const tab of [page, other]) {
        await eventually(async () => assert.deepEqual(await entries(tab), []))
        await eventually(async () => assert.deepEqual(await titles(tab), { a: 'corrected', b: 'b' }))
      }
    },
  })
}

{
  let pages: Page[]
  let dropped: { dropped: number }
  story('logout', {
    'Ada has two tabs open, an edit that cannot be sent, and a request in the air.': async () => {
      pages = [await tabWith('a'), await now.chrome.tab(now.server.url)]
      await pages[1]!.evaluate(() => lab.open({ pull: 300 }))
      await eventually(async () => assert.deepEqual(await titles(pages[1]!), { a: 'a' }))
      await now.server.fault({ method: 'POST', mode: 'hold' })
      await now.server.fault({ method: 'PATCH', mode: 'fail' })
      await pages[0]!.evaluate(() => {
        const { std, todos } = lab.opened
        const made = todos.insert(lab.todo('secret', 'secret'))
        Object.assign(lab, { outcome: std.outbox.delivered(made).then(() => 'delivered', (error: { code: string }) => error.code) })
      })
      await pages[1]!.evaluate(async () => {
        const { std, todos } = lab.opened
        const edit = todos.update('a', (draft) => void (draft.title = 'unsent'))
        Object.assign(lab, { outcome: std.outbox.delivered(edit).then(() => 'delivered', (error: { code: string }) => error.code) })
        await std.outbox.stored(edit)
      })
      await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 1))
      await eventually(async () => assert.equal((await entries(pages[0]!)).length, 2))
    },
    'She asks to log out, and the app asks first: `reset({ unsent: \'refuse\' })` rejects with `unsent`, and everything stays.': async () => {
      assert.equal(await pages[0]!.evaluate(() => lab.opened.std.reset({ unsent: 'refuse' }).then(() => 'done', (error: { code: string }) => error.code)), 'unsent')
      assert.equal((await entries(pages[1]!)).length, 2)
    },
    'She logs out all the same: `reset()` says that two writes were dropped.': async () => {
      await now.server.fault({ path: '/api/changes', mode: 'hold' })
      dropped = await pages[0]!.evaluate(() => lab.opened.std.reset())
      assert.deepEqual(dropped, { dropped: 2 })
    },
    'What she waited for rejects with `reset`, in the other tab too, and the request in the air is aborted.': async () => {
      for (const page of pages) assert.equal(await page.evaluate(() => (lab as never as { outcome: Promise<unknown> }).outcome), 'reset')
      await eventually(async () => assert.equal((await now.server.faults())[0]?.held, 0))
    },
    'Both tabs show nothing of hers, and the store holds nothing of hers, not even after the aborted request has been answered.': async () => {
      for (const page of pages) await eventually(async () => assert.deepEqual(await titles(page), {}))
      await now.server.heal()
      const records = await pages[0]!.evaluate(() => lab.records('std-sync'))
      assert.deepEqual([records['entries'], JSON.stringify(records).includes('secret')], [[], false])
    },
    'Ben logs in: the same collections fill with what the server has for him, and his first edit is delivered.': async () => {
      for (const page of pages) await eventually(async () => assert.equal((await titles(page))['a'], 'a'))
      await pages[1]!.evaluate(() => lab.opened.std.outbox.delivered(lab.opened.todos.update('a', (draft) => void (draft.title = 'Ben was here'))))
      for (const page of pages) await eventually(async () => assert.equal((await titles(page))['a'], 'Ben was here'))
    },
  })
}

{
  let page: Page
  const move = (from: string, to: string) => page.evaluate(async ([from, to]) => {
    const { std, todos } = lab.opened
    const original = todos.get(from!)!
    const moved = std.inOrder(() => {
      todos.insert({ ...lab.todo(to!, original.title), note: original.note })
      todos.delete(from!)
    })
    await std.outbox.stored(moved)
    return moved.id
  }, [from, to])
  const methods = async () => (await now.server.requests()).map(({ method }) => method)
  let failed: string
  story('a-move', {
    'Ada moves an event from home to work while the server is away: the screen shows it at work at once.': async () => {
      page = await tabWith('home-1', 'home-2')
      await now.server.fault({ method: 'POST', mode: 'fail' })
      await move('home-1', 'work-1')
      assert.deepEqual(await titles(page), { 'home-2': 'home-2', 'work-1': 'home-1' })
    },
    'The copy is tried, and tried again; the delete is not sent, whatever asks for it.': async () => {
      for (const times of [1, 2, 3]) {
        await eventually(async () => assert.ok((await methods()).length >= times))
        await page.evaluate(() => lab.opened.std.outbox.drain())
      }
      assert.deepEqual(new Set(await methods()), new Set(['POST']))
    },
    'She reloads, and a second tab takes over: the delete still waits, since what it waits for is in the store.': async () => {
      await reopened(page, 300)
      const other = await now.chrome.tab(now.server.url)
      await other.evaluate(() => lab.open({ pull: 300 }))
      await page.close()
      page = other
      await eventually(async () => assert.equal((await status(page)).leader, true))
      await page.evaluate(() => lab.opened.std.outbox.drain())
      assert.deepEqual((await entries(page)).map(({ op, status }) => [op, status === 'failed']), [['insert', false], ['delete', false]])
      assert.deepEqual(new Set(await methods()), new Set(['POST']))
    },
    'The server is back: the copy is made first, and then the original is deleted, once.': async () => {
      await now.server.heal()
      await page.evaluate(() => lab.opened.std.outbox.drain())
      await eventually(async () => assert.deepEqual(await entries(page), []))
      assert.deepEqual(applied(await now.server.requests()), ['POST /api/todos', 'DELETE /api/todos/home-1'])
      await eventually(async () => assert.deepEqual(await titles(page), { 'home-2': 'home-2', 'work-1': 'home-1' }))
    },
    'She moves another event, and the server refuses the copy: the delete fails unsent, says what it depended on, and the original is where it was.': async () => {
      await now.server.fault({ method: 'POST', mode: 'fail', status: 403 })
      failed = await move('home-2', 'work-2')
      await eventually(async () => assert.deepEqual((await entries(page)).map(({ status, error }) => [status, error?.message.startsWith('depends on')]), [['failed', false], ['failed', true]]))
      await eventually(async () => assert.deepEqual(await titles(page), { 'home-2': 'home-2', 'work-1': 'home-1' }))
      assert.equal((await methods()).filter((method) => method === 'DELETE').length, 1)
    },
    'She corrects nothing and retries the copy when the server takes it: the delete is revived with it, and follows it.': async () => {
      await now.server.heal()
      await page.evaluate((id) => lab.opened.std.outbox.retry(`${id}:0`), failed)
      await eventually(async () => assert.deepEqual(await entries(page), []))
      assert.deepEqual(applied(await now.server.requests()).slice(2), ['POST /api/todos', 'DELETE /api/todos/home-2'])
      await eventually(async () => assert.deepEqual(await titles(page), { 'work-1': 'home-1', 'work-2': 'home-2' }))
    },
  })
}
