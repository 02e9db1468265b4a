// Takes the README's picture of the demo with pending Entries: docs/demo.png.
import { fileURLToPath } from 'node:url'
import { Chrome, Server } from '../e2e/support.js'

const server = await Server.start('demo')
const chrome = await Chrome.start()
try {
  for (const [id, title, done] of [['1', 'Book the ferry', true], ['2', 'Call the plumber', false], ['3', 'Water the tomatoes', false]] as const) {
    await server.foreign(id, { title, done })
  }
  const page = await chrome.context.newPage()
  await page.setViewportSize({ width: 1080, height: 640 })
  await page.goto(server.url)
  await page.waitForSelector('#todos li:nth-child(3)')
  await page.fill('#title', ' ')
  await page.click('#add button')
  await page.waitForSelector('#entries .failed')
  await page.check('#offline')
  for (const title of ['Buy milk', 'Find the passport']) {
    await page.fill('#title', title)
    await page.click('#add button')
  }
  await page.locator('#todos li[data-id="2"] input[type=checkbox]').check()
  await page.locator('#todos li[data-id="1"] button').click()
  await page.locator('h1').click()
  await page.waitForSelector('#entries li:nth-child(5)')
  await page.screenshot({ path: fileURLToPath(new URL('../../docs/demo.png', import.meta.url)) })
} finally {
  await chrome.remove()
  await server.stop()
}
