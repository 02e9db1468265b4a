import type { Request } from 'outbox-wasm'

/** A row as the demo's server stores it. */
export interface Todo {
  id: string
  title: string
  done: boolean
  note: string
  version: number
}

/** The server refused: its answer says why. */
export class Refused extends Error {
  override readonly name = 'Refused'
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message)
  }
}

async function send(method: string, path: string, body: unknown, request: Request, version?: number): Promise<Todo | undefined> {
  const response = await fetch(path, {
    method,
    signal: request.signal,
    headers: {
      'content-type': 'application/json',
      'idempotency-key': request.idempotencyKey,
      ...(version !== undefined && { 'if-match': `"${version}"` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (response.status >= 500) throw Object.assign(new Error(`the server answers ${response.status}`), { name: 'OutboxUnreachable' })
  if (response.status === 204) return undefined
  const answer = (await response.json()) as Todo & { error?: string }
  if (!response.ok) throw new Refused(response.status, answer.error ?? response.statusText)
  return answer
}

/** The demo server's API. */
export const api = {
  create: ({ id, title, done, note }: Todo, request: Request) => send('POST', '/api/todos', { id, title, done, note }, request),
  /** A row that was deleted and made again arrives as an update of all its fields. */
  patch: (todo: Todo, { id: _, version: __, ...updates }: Partial<Todo>, request: Request) =>
    send('PATCH', `/api/todos/${encodeURIComponent(todo.id)}`, updates, request, todo.version || undefined),
  remove: (todo: Todo, request: Request) => send('DELETE', `/api/todos/${encodeURIComponent(todo.id)}`, undefined, request),
  async changes(cursor: number | undefined, signal: AbortSignal) {
    const response = await fetch(`/api/changes?cursor=${cursor ?? 0}`, { signal })
    if (!response.ok) throw new Error(`the server answers ${response.status}`)
    return (await response.json()) as { rows: Todo[]; deleted: string[]; cursor: number; more: boolean }
  },
}
