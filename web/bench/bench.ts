// Measures in Chromium, on the page of the end-to-end tests, and prints a table.
// Figures are of this machine and this run: read the ratios.
import type { Page } from 'playwright-core'
import { Chrome, Server } from '../e2e/support.js'

const server = await Server.start('e2e')
const chrome = await Chrome.start()

/** The median of some figures, in their unit. */
const median = (figures: number[]) => figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? NaN
const ms = (figure: number) => `${figure.toFixed(2)} ms`

/** Stores so many Entries, each in a Queue of its own, which nobody in a later page sends. */
async function fill(page: Page, count: number): Promise<void> {
  await page.evaluate(async (count) => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: `bench-${count}`, platform: lab.browser(), outbox: true })
    const old = std.collection<{ id: string; text: string }, string>({ name: 'old', getKey: ({ id }) => id, onInsert: () => undefined })
    await std.outbox.pause()
    for (let at = 0; at < count; at += 1000) {
      await std.outbox.stored(old.insert(Array.from({ length: Math.min(1000, count - at) }, (_, n) => ({ id: `row-${at + n}`, text: 'x'.repeat(200) }))))
    }
    await std.outbox.resume()
  }, count)
}

interface Single {
  floor: number[]
  stored: number[]
  delivered: number[]
}

/** One edit at a time beside what is stored: on disk, and delivered by an instant callback. */
async function singles(page: Page, count: number): Promise<Single> {
  return page.evaluate(async (count) => {
    const { createStdSync } = await lab.load()
    const std = createStdSync({ name: `bench-${count}`, platform: lab.browser(), outbox: true })
    const rows = std.collection<{ id: string; text: string }, string>({ name: 'new', getKey: ({ id }) => id, onInsert: () => undefined, onDelete: () => undefined })
    await std.ready
    const text = 'x'.repeat(200)
    const db = await new Promise<IDBDatabase>((resolve) => {
      const open = indexedDB.open('floor', 1)
      open.onupgradeneeded = () => void open.result.createObjectStore('rows', { keyPath: 'id' })
      open.onsuccess = () => resolve(open.result)
    })
    const put = (id: string) =>
      new Promise<void>((resolve) => {
        const transaction = db.transaction('rows', 'readwrite', { durability: 'strict' })
        transaction.objectStore('rows').put({ id, text })
        transaction.oncomplete = () => resolve()
        transaction.commit()
      })
    const figures: Single = { floor: [], stored: [], delivered: [] }
    for (let n = 0; n < 120; n++) {
      const start = performance.now()
      await put(`row-${n}`)
      const edit = performance.now()
      const transaction = rows.insert({ id: `row-${n}`, text })
      await std.outbox.stored(transaction)
      const stored = performance.now()
      await std.outbox.delivered(transaction)
      if (n < 20) continue // warming up
      figures.floor.push(edit - start)
      figures.stored.push(stored - edit)
      figures.delivered.push(performance.now() - edit)
    }
    return figures
  }, count)
}

try {
  console.log('One edit beside stored entries (median of 100; floor: a plain strict put)\n')
  console.log('  stored   floor     on disk   ÷ floor   delivered   ÷ beside none')
  let none: { stored: number; delivered: number } | undefined
  for (const count of [0, 1_000, 10_000]) {
    const filling = await chrome.tab(server.url)
    if (count > 0) await fill(filling, count)
    await filling.close()
    const page = await chrome.tab(server.url)
    const { floor, stored, delivered } = await singles(page, count)
    const figures = { stored: median(stored), delivered: median(delivered) }
    none ??= figures
    const ratio = `${(figures.stored / none.stored).toFixed(2)} · ${(figures.delivered / none.delivered).toFixed(2)}`
    console.log(`  ${String(count).padEnd(8)} ${ms(median(floor)).padEnd(9)} ${ms(figures.stored).padEnd(9)} ${(figures.stored / median(floor)).toFixed(2).padEnd(9)} ${ms(figures.delivered).padEnd(11)} ${ratio}`)
    await page.close()
  }
} finally {
  await chrome.remove()
  await server.stop()
}
