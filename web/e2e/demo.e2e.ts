import { assert, eventually, stage, test } from './support.js'

const now = stage('demo')

async function demo() {
  const page = await now.chrome.context.newPage()
  await page.goto(now.server.url)
  await page.waitForSelector('body[data-ready]')
  return page
}

test('the demo keeps what is typed offline over a reload, and sends it once online', async () => {
  const page = await demo()
  await page.check('#offline')
  for (const title of ['milk', 'bread']) {
    await page.fill('#title', title)
    await page.click('#add button')
  }
  await page.waitForFunction(() => document.querySelectorAll('#entries li').length === 2)
  assert.equal(await page.locator('#todos li.unsent').count(), 2)
  await eventually(async () => assert.match(await page.locator('#status').innerText(), /2 unsent.*waiting for online/))

  await page.reload()
  await page.waitForSelector('body[data-ready]')
  assert.deepEqual(await page.locator('#todos input[type=text]').evaluateAll((inputs) => inputs.map((input) => (input as HTMLInputElement).value)), ['bread', 'milk'])
  assert.equal(await page.locator('#entries li').count(), 2)
  assert.deepEqual(await now.server.todos(), [])

  await page.uncheck('#offline')
  await page.waitForFunction(() => document.querySelector('#count')?.textContent === 'empty')
  assert.equal(await page.locator('#todos li.unsent').count(), 0)
  assert.deepEqual((await now.server.todos()).map(({ title }) => title).sort(), ['bread', 'milk'])
})

test('the demo shows a refused todo as failed, in the second tab too, and discards it', async () => {
  const page = await demo()
  const opening = now.chrome.context.waitForEvent('page')
  await page.click('#tab')
  const second = await opening
  await second.waitForSelector('body[data-ready]')
  await page.fill('#title', ' ')
  await page.click('#add button')
  for (const tab of [page, second]) await tab.waitForSelector('#entries .failed')
  assert.match(await second.locator('#entries .why').innerText(), /title must not be blank/)
  assert.equal(await page.locator('#todos li').count(), 0)
  await second.click('#entries li button:has-text("discard")')
  for (const tab of [page, second]) await tab.waitForFunction(() => document.querySelector('#count')?.textContent === 'empty')
  await eventually(async () => assert.match(await page.locator('#status').innerText(), /0 unsent, 0 failed/))
})
