import type { OutboxError } from './errors.js'
import { Instance, type Guard } from './host.js'
import { attempt } from './task.js'

/** Who has to know that the module died, and that a fresh one serves. */
export interface Watcher {
  /** A fresh one follows, or not. */
  died(crash: OutboxError, again: boolean): void
  restarted(): void
}

/** A module that dies so often within a minute is not started again. */
const enough = 3

/** The running module of a page, started anew from the compiled one when it dies. */
export class Engine {
  #instance: Instance
  #deaths: number[] = []
  #serving: Promise<void> = Promise.resolve()
  readonly #watchers = new Set<Watcher>()

  private constructor(
    readonly module: WebAssembly.Module,
    first: Instance,
    /** The module will not be started again. */
    readonly gone: () => void,
  ) {
    this.#instance = first
    first.onDeath((crash) => this.#died(crash))
  }

  static async start(module: WebAssembly.Module, gone: () => void): Promise<Engine> {
    return new Engine(module, await Instance.start(module), gone)
  }

  /** The functions of the module that serves now. */
  get exports(): Guard {
    return this.#instance.exports
  }

  /** Resolves when no fresh module is on its way any more. */
  get serving(): Promise<void> {
    return this.#serving
  }

  /** Has a watcher told, until the returned function is called. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #died(crash: OutboxError): void {
    const now = Date.now()
    this.#deaths = [...this.#deaths.filter((at) => now - at < 60_000), now]
    const again = this.#deaths.length < enough
    this.#mourn(crash, again)
    if (!again) return
    this.#serving = Instance.start(this.module).then(
      (fresh) => this.#restarted(fresh),
      () => this.#mourn(crash, false),
    )
  }

  #mourn(crash: OutboxError, again: boolean): void {
    for (const { died } of [...this.#watchers]) attempt(() => died(crash, again))
    if (!again) this.gone()
  }

  #restarted(fresh: Instance): void {
    this.#instance = fresh
    fresh.onDeath((crash) => this.#died(crash))
    for (const { restarted } of [...this.#watchers]) attempt(restarted)
  }
}
