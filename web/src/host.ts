import { errorOf, isFailure, OutboxError, type Failure } from './errors.js'
import { env, Go } from './generated/wasm_exec.js'
import { covers, spread } from './rows.js'
import { attempt } from './task.js'

/**
 * The one place where TypeScript reaches Go. It owns what must outlive a module
 * that dies: the promises Go is to settle and the locks Go holds.
 */

/** What Go hands over: functions, some of which return a Failure. */
type Exports = Record<string, (...args: unknown[]) => unknown>

/** A promise with its handles. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

/** Makes a promise whose rejection nobody has to listen to. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}

/** Compiles `outbox.wasm`, streaming it where the server's MIME type allows. */
export async function compile(url: string | URL): Promise<WebAssembly.Module> {
  const response = await fetch(url)
  if (!response.ok) {
    throw new OutboxError('invalid', `wasmUrl: ${String(url)} answers ${response.status}; serve outbox.wasm there, or say where it is`)
  }
  if (response.headers.get('content-type') === 'application/wasm') return WebAssembly.compileStreaming(response)
  return WebAssembly.compile(await response.arrayBuffer())
}

/** Go, with every way into it guarded. */
class Guarded extends Go {
  constructor(readonly died: (why: unknown) => void) {
    super()
    this.exit = (code) => died(new Error(`outbox.wasm ended with code ${code}`))
  }

  /** All callbacks, timers and calls come through here. */
  override _resume(): void {
    if (this.exited) return
    try {
      super._resume()
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
        this.exited = true
        this.died(error)
      }
      throw error
    }
  }
}

/** A running module. */
export class Instance {
  #exports: Exports | undefined
  #crash: OutboxError | undefined
  #pending = new Map<number, Deferred<unknown>>()
  #nextPromise = 0
  #death = deferred<void>()
  #mourners = new Set<(crash: OutboxError) => void>()
  /** What the module has opened, to be closed when it dies. */
  #open = new Set<{ close(): void }>()
  readonly #go: Guarded

  private constructor() {
    this.#go = new Guarded((why) => this.#die(why))
  }

  /** Starts a module and waits until it serves. */
  static async start(module: WebAssembly.Module): Promise<Instance> {
    const instance = new Instance()
    const go = instance.#go
    go.global = globalFor({ __outboxHost: instance.#host(), ...instance.#openers() })
    const running = go.run(await WebAssembly.instantiate(module, go.importObject))
    running.catch((error: unknown) => instance.#die(error))
    if (instance.#crash) throw instance.#crash
    return instance
  }

  /** Why the module is dead, or `undefined`. */
  get crash(): OutboxError | undefined {
    return this.#crash
  }

  /** Calls `mourn` if the module dies, until the returned function is called. */
  onDeath(mourn: (crash: OutboxError) => void): () => void {
    this.#mourners.add(mourn)
    return () => this.#mourners.delete(mourn)
  }

  /** The module's functions. */
  get exports(): Guard {
    return new Guard(this, this.#exports ?? {})
  }

  /** Calls into Go. Throws what Go reports, and `crashed` if the module dies of it. */
  call(fn: (...args: unknown[]) => unknown, args: unknown[]): unknown {
    if (this.#crash) throw this.#crash
    let result: unknown
    try {
      result = fn(...args)
    } catch (error) {
      throw this.#crash ?? error
    }
    if (this.#crash) throw this.#crash
    if (isFailure(result)) throw errorOf(result)
    return result
  }

  /** Calls into Go with a promise that Go settles. */
  promise<T>(fn: (...args: unknown[]) => unknown, args: unknown[]): Promise<T> {
    const id = ++this.#nextPromise
    const promised = deferred<unknown>()
    this.#pending.set(id, promised)
    try {
      this.call(fn, [id, ...args])
    } catch (error) {
      this.#pending.delete(id)
      promised.reject(error)
    }
    return promised.promise as Promise<T>
  }

  /** What Go may call. */
  #host() {
    return {
      spread,
      covers,
      serve: (exports: Exports) => {
        this.#exports = exports
      },
      settle: (id: number, failure: Failure | null, value: unknown) => {
        const promised = this.#pending.get(id)
        this.#pending.delete(id)
        if (failure) promised?.reject(errorOf(failure))
        else promised?.resolve(value)
      },
      locks: globalThis.navigator?.locks && this.#locks(),
    }
  }

  /** Web Locks that are given back, and asked for no more, when the module dies. */
  #locks() {
    return {
      request: (name: string, { signal, ...options }: LockOptions, granted: (lock: Lock | null) => Promise<unknown>) => {
        const asked = new AbortController()
        const cut = () => asked.abort(signal?.reason)
        signal?.addEventListener('abort', cut)
        if (signal?.aborted) cut()
        void this.#death.promise.then(cut)
        return navigator.locks.request(name, { ...options, ...(signal && { signal: asked.signal }) }, (lock) =>
          this.#crash ? undefined : Promise.race([granted(lock), this.#death.promise]),
        )
      },
    }
  }

  /** The page's ways to open something, which remember what is open. */
  #openers() {
    const opened = <T extends { close(): void }>(one: T): T => {
      if (this.#crash) one.close()
      else this.#open.add(one)
      return one
    }
    return {
      indexedDB: globalThis.indexedDB && {
        open: (name: string, version?: number) => {
          const request = indexedDB.open(name, version)
          request.addEventListener('success', () => {
            const connection = opened(request.result)
            connection.addEventListener('close', () => this.#open.delete(connection))
          })
          return request
        },
      },
      BroadcastChannel: globalThis.BroadcastChannel && function (name: string) {
        return opened(new BroadcastChannel(name))
      },
    }
  }

  #die(why: unknown): void {
    if (this.#crash) return
    this.#crash = new OutboxError('crashed', 'outbox.wasm died; what was stored is safe, and will be sent', { cause: why })
    for (const timer of this.#go._scheduledTimeouts.values()) clearTimeout(timer)
    for (const one of this.#open) attempt(() => one.close())
    this.#open.clear()
    this.#death.resolve()
    for (const promised of this.#pending.values()) promised.reject(this.#crash)
    this.#pending.clear()
    const crash = this.#crash
    for (const mourn of [...this.#mourners]) attempt(() => mourn(crash))
  }
}

/** Functions of Go, guarded. */
export class Guard {
  constructor(
    readonly instance: Instance,
    readonly functions: Exports,
  ) {}

  /** Calls a function and returns its value. */
  call<T = void>(name: string, ...args: unknown[]): T {
    return this.instance.call(this.#named(name), args) as T
  }

  /** Calls a function that answers later. */
  async<T = void>(name: string, ...args: unknown[]): Promise<T> {
    return this.instance.promise<T>(this.#named(name), args)
  }

  /** Calls a function that returns more functions. */
  open(name: string, ...args: unknown[]): Guard {
    return new Guard(this.instance, this.call<Exports>(name, ...args))
  }

  #named(name: string): (...args: unknown[]) => unknown {
    const fn = this.functions[name]
    if (!fn) throw new OutboxError('crashed', `outbox.wasm does not serve ${name}: it is of another version than this script`)
    return fn
  }
}

/**
 * The global object as Go sees it: the page's, with Go's stubs and the host's laid
 * over it, so that nothing has to be put on the page's own. The page's functions,
 * constructors aside, must be called on the page.
 */
function globalFor(host: object): object {
  const own: Record<string, unknown> = { ...env, ...host }
  return new Proxy(globalThis, {
    get(page, name) {
      if (typeof name === 'string' && Object.hasOwn(own, name)) return own[name]
      const value: unknown = Reflect.get(page, name)
      return typeof value === 'function' && !Object.hasOwn(value, 'prototype') ? value.bind(page) : value
    },
  })
}
