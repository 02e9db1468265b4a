/**
 * An offline-write engine for TanStack DB. An edit, once made, survives anything
 * short of the user clearing their browser, and reaches the backend in order,
 * once.
 */
export { loadOutbox } from './load.js'
export { createOfflineAction } from './actions.js'
export { browser, memory, syncStrategy } from './platform.js'
export { paceStrategy } from './pacing.js'
export { OutboxError, OutboxUnreachable, type OutboxErrorCode, type StoredError } from './errors.js'
export { outboxReplay } from './live.js'
export type * from './types.js'
