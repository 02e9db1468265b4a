import { refusal, type Answer, type Flown, type Fly } from './callbacks.js'
import type { RowCodec } from './codec.js'
import type { Config } from './collections.js'
import { errorOf, OutboxError, OutboxUnreachable, type Failure } from './errors.js'
import type { Guard } from './host.js'
import { keyText, type Row } from './rows.js'
import { nextTask } from './task.js'
import type { Request, Verdict } from './types.js'

/** A Handler of this tab. */
interface Caller {
  fly: Fly
  classify: ((error: unknown) => Verdict) | undefined
  /** Milliseconds a Request may take. */
  timeout: number | undefined
  /** A Collection's. */
  config?: Config
  codec?: RowCodec
}

/** Runs the user's callbacks for Go, and answers with what came of them. */
export class Callers {
  readonly #callers = new Map<string, Caller>()
  readonly #open = new Map<number, AbortController>()
  #landed: [id: number, answer: object][] = []
  /** What callbacks of this tab threw, by Entry, for the error a user meets. */
  readonly #causes = new Map<string, unknown>()

  constructor(
    readonly go: () => Guard,
    readonly classify: ((error: unknown) => Verdict) | undefined,
  ) {}

  add(name: string, caller: Caller): void {
    this.#callers.set(name, caller)
  }

  /** Flies a Request through the Handler of that name. */
  fly(id: number, name: string, flown: Flown): void {
    const { fly, classify, timeout } = this.#named(name)
    const refused = (error: unknown): Answer => {
      const answer = refusal(error, [classify, this.classify])
      if (!answer.unreachable) for (const entry of flown.entryIds) this.#causes.set(entry, error)
      return answer
    }
    const late = this.#run(id, async (signal) => {
      const { id: idempotencyKey, entryIds, attempt, enqueuedAt } = flown
      const request: Request = { idempotencyKey, signal, entryIds, attempt, enqueuedAt }
      // The callback gets copies: what it does to them is not stored.
      const { base, changes, latest, payload } = structuredClone({ base: flown.base, changes: flown.changes, latest: flown.latest, payload: flown.payload })
      try {
        return { rows: await fly({ ...flown, ...(base && { base }), ...(changes && { changes }), ...(latest && { latest }), payload }, request) }
      } catch (error) {
        return refused(error)
      } finally {
        clearTimeout(timer)
      }
    })
    const timer = timeout === undefined ? undefined : setTimeout(() => {
      const error = new OutboxUnreachable(`no answer within ${timeout} ms`)
      late(error, refusal(error, []))
    }, timeout)
  }

  /** Fetches a page for a Collection's strategy. */
  fetch(id: number, collection: string, cursor: unknown): void {
    const { config, codec } = this.#collection(collection)
    this.#run(id, async (signal) => {
      const page = await config.sync?.config.fetch({ cursor, signal })
      if (!Array.isArray(page?.rows)) {
        throw new OutboxError('invalid', `the fetch of "${collection}" must return { rows, cursor }, rows being an array`)
      }
      return {
        rows: page.rows.map((row): [string, Row] => [keyText(config.getKey(row)), codec.encode(row)]),
        deleted: (page.deleted ?? []).map(keyText),
        cursor: page.cursor === undefined ? undefined : structuredClone(page.cursor),
        more: page.more === true,
      }
    })
  }

  /** Whether an incoming row is to replace a stored one. */
  newer(collection: string, incoming: Row, stored: Row): boolean {
    const { config, codec } = this.#collection(collection)
    const version = config.version as (row: Row) => number | string
    return !(version(codec.decode(incoming)) < version(codec.decode(stored)))
  }

  /** Aborts a callback that is running, and says why. */
  abort(id: number, why: Failure | null): void {
    const reason = why ? errorOf(why) : new OutboxError('disposed', 'this tab no longer sends; the write is kept and will be sent again')
    this.#open.get(id)?.abort(reason)
    this.#open.delete(id)
  }

  /** Aborts all that run: nobody waits for their answers. */
  abandon(why: OutboxError): void {
    for (const controller of this.#open.values()) controller.abort(why)
    this.#open.clear()
    this.#landed = []
  }

  /** What a callback of this tab threw for an Entry. */
  causeOf(entry: string | undefined): unknown {
    if (entry === undefined) return undefined
    const cause = this.#causes.get(entry)
    this.#causes.delete(entry)
    return cause
  }

  #named(name: string): Caller {
    const caller = this.#callers.get(name)
    if (!caller) throw new OutboxError('crashed', `there is no ${name} in this tab`)
    return caller
  }

  #collection(name: string): { config: Config; codec: RowCodec } {
    return this.#named(`collection:${name}`) as Caller & { config: Config; codec: RowCodec }
  }

  /** Runs a callback and answers with what comes of it, unless another answer has been given before. */
  #run(id: number, run: (signal: AbortSignal) => Promise<object>): (why: Error, answer: object) => void {
    const controller = new AbortController()
    this.#open.set(id, controller)
    run(controller.signal)
      .catch((error: unknown): Answer => refusal(error, []))
      .catch((error: unknown): Answer => (reportError(error), { error: { name: 'Error', message: 'what the callback threw cannot be read' }, unreachable: false }))
      .then((answer) => land(answer))
    const land = (answer: object): boolean => {
      if (this.#open.get(id) !== controller) return false
      this.#open.delete(id)
      this.#land(id, answer)
      return true
    }
    return (why, answer) => {
      if (land(answer)) controller.abort(why)
    }
  }

  /** Answers that arrive in one task are handed to Go together. */
  #land(id: number, answer: object): void {
    this.#landed.push([id, answer])
    if (this.#landed.length > 1) return
    nextTask(() => {
      if (this.#landed.length === 0) return
      try {
        this.go().call('land', this.#landed.splice(0))
      } catch (error) {
        // A crash has been told to everybody who waits.
        if (!(error instanceof OutboxError && error.code === 'crashed')) reportError(error)
      }
    })
  }
}
