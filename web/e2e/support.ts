import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { startChromium } from '../scripts/chromium.mjs'
import type { Todo } from '../demo/src/api.js'
import type { Lab } from './page/page.js'

declare global {
  // What e2e/page/page.ts puts on the test page.
  var lab: Lab
}

export { assert, test }

/** A write request as the server's journal has it. */
export interface Journaled {
  method: string
  path: string
  key: string | null
  ifMatch: string | null
  body: Partial<Todo> | null
  status: number
  replayed: boolean
  applied: boolean
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The demo's server on a database of its own. */
export class Server {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(pages: 'e2e' | 'demo'): Promise<Server> {
    const folder = await mkdtemp(join(tmpdir(), 'outbox-server-'))
    const child = spawn(join(root, 'bin/demo-server'), ['-addr', '127.0.0.1:0', '-db', join(folder, 'demo.sqlite'), '-web', join(root, `web/${pages}/public`), '-faults'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (data: Buffer) => {
        const found = /listening on (\S+)/.exec(String(data))
        if (found?.[1]) resolve(found[1])
      })
      child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)))
    })
    return new Server(url, child, folder)
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.kill('SIGTERM')
    await gone
    await rm(this.folder, { recursive: true, force: true })
  }

  private async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.url + path, { method, ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) })
    assert.ok(response.ok, `${method} ${path} answers ${response.status}`)
    return response.status === 204 || response.status === 201 ? undefined : response.json()
  }

  reset = () => this.call('POST', '/api/reset')
  requests = () => this.call('GET', '/api/requests') as Promise<Journaled[]>
  todos = () => this.call('GET', '/api/todos') as Promise<Todo[]>
  fault = (fault: { method?: string; path?: string; mode: 'fail' | 'drop' | 'hold' | 'apply-and-drop'; status?: number; times?: number }) => this.call('POST', '/api/faults', fault)
  faults = () => this.call('GET', '/api/faults') as Promise<{ hits: number; held: number }[]>
  heal = () => this.call('DELETE', '/api/faults')
  foreign = (id: string, fields: Partial<Todo>) => this.call('PUT', `/api/foreign/${id}`, fields)
}

/** A browser on a profile that outlives it. */
export class Chrome {
  private constructor(
    readonly profile: string,
    private readonly process: Awaited<ReturnType<typeof startChromium>>,
    readonly browser: Browser,
    readonly context: BrowserContext,
    /** What went wrong in any page. */
    readonly errors: string[],
  ) {}

  static async start(profile?: string): Promise<Chrome> {
    profile ??= await mkdtemp(join(tmpdir(), 'outbox-chrome-'))
    const process = await startChromium(profile)
    const browser = await chromium.connectOverCDP(process.endpoint)
    const context = browser.contexts()[0]
    assert.ok(context)
    const errors: string[] = []
    context.on('weberror', (error) => errors.push(String(error.error())))
    return new Chrome(profile, process, browser, context, errors)
  }

  /** Kills every process of the browser, as a power cut would. */
  async kill(): Promise<void> {
    await this.process.kill()
  }

  /** Kills the browser and deletes its profile. */
  async remove(): Promise<void> {
    await this.kill()
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 })
  }

  /** Opens the test page in a tab. */
  async tab(url: string): Promise<Page> {
    const page = await this.context.newPage()
    await page.goto(url)
    await page.waitForFunction(() => 'lab' in globalThis)
    return page
  }
}

/** A server for all tests of a file, and for each test an empty database and a new browser. */
export function stage(pages: 'e2e' | 'demo' = 'e2e') {
  const now = {} as { server: Server; chrome: Chrome }
  before(async () => {
    now.server = await Server.start(pages)
  })
  after(() => now.server.stop())
  beforeEach(async () => {
    await now.server.heal()
    await now.server.reset()
    now.chrome = await Chrome.start()
  })
  afterEach(async () => {
    const { errors } = now.chrome
    await now.chrome.remove()
    assert.deepEqual(errors, [], 'no page may have an uncaught error or an unhandled rejection')
  })
  return now
}

/** Waits until a check holds, and returns what it returned; it fails with the check's own error. */
export async function eventually<T>(check: () => Promise<T> | T, within = 10_000): Promise<T> {
  const end = Date.now() + within
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** The stored Entries as a tab lists them. */
export function entries(page: Page): Promise<{ id: string; op: string; status: string; key?: unknown; attempt: number; error?: { message: string; name: string } }[]> {
  return page.evaluate(async () => {
    const { entity } = lab.opened.std.outbox
    await entity.preload()
    return [...entity.values()].map(({ id, op, status, key, attempt, error }) => ({ id, op, status, attempt, ...(key !== undefined && { key }), ...(error && { error }) }))
  })
}

/** The titles on screen, by id. */
export function titles(page: Page): Promise<Record<string, string>> {
  return page.evaluate(() => Object.fromEntries(lab.rows(lab.opened.todos).map(({ id, title }) => [id, title])))
}

/** The writes that changed the server's data, as "METHOD path". */
export function applied(requests: Journaled[]): string[] {
  return requests.filter((request) => request.applied).map(({ method, path }) => `${method} ${path}`)
}
