/** What went wrong. The list is closed; Go has the same one. */
export type OutboxErrorCode =
  | 'failed'
  | 'discarded'
  | 'reset'
  | 'disposed'
  | 'superseded'
  | 'storage'
  | 'not-storable'
  | 'invalid'
  | 'in-request'
  | 'unsent'
  | 'crashed'

/** The only error this package throws, or rejects a promise with. */
export class OutboxError extends Error {
  override readonly name = 'OutboxError'
  /** The Entry concerned, where there is one. */
  readonly entryId: string | undefined

  constructor(
    readonly code: OutboxErrorCode,
    message: string,
    options?: ErrorOptions & { entryId?: string | undefined },
  ) {
    super(message, options)
    this.entryId = options?.entryId
  }
}

/**
 * Throw this from a callback when the Backend cannot be reached: the write stays
 * pending and is sent again later, under the same idempotency key. An error of
 * another class counts too if its `name` or its `_tag` is `OutboxUnreachable`.
 */
export class OutboxUnreachable extends Error {
  override readonly name = 'OutboxUnreachable'
  readonly _tag = 'OutboxUnreachable'

  constructor(message = 'the backend cannot be reached', options?: ErrorOptions) {
    super(message, options)
  }
}

/** What the Outbox itself finds that a stored write has to wait for; no `classify` is asked. */
export class Waiting extends OutboxUnreachable {}

/** An error as it is stored with a failed Entry. */
export interface StoredError {
  name: string
  message: string
  code?: string
}

/** A failure as Go reports it. */
export interface Failure {
  failure: true
  code: OutboxErrorCode
  message: string
  entryId?: string
  stored?: StoredError
}

export function isFailure(value: unknown): value is Failure {
  return typeof value === 'object' && value !== null && (value as Partial<Failure>).failure === true
}

/** Returns a failure as the error a user meets, with what caused it if known. */
export function errorOf(failure: Failure, cause?: unknown): OutboxError {
  return new OutboxError(failure.code, failure.message, {
    entryId: failure.entryId,
    cause: cause ?? (failure.stored && restored(failure.stored)),
  })
}

function restored(stored: StoredError): Error {
  return Object.assign(new Error(stored.message), { name: stored.name }, stored.code === undefined ? {} : { code: stored.code })
}

/** Returns what a callback threw in the form it is stored in. */
export function describe(thrown: unknown): StoredError {
  if (typeof thrown !== 'object' || thrown === null) return { name: 'Error', message: String(thrown) }
  const { name, message, code, _tag } = thrown as Record<string, unknown>
  const stored: StoredError = {
    name: typeof name === 'string' && name !== '' ? name : typeof _tag === 'string' ? _tag : 'Error',
    message: typeof message === 'string' ? message : String(thrown),
  }
  if (typeof code === 'string' || typeof code === 'number') stored.code = String(code)
  return stored
}
