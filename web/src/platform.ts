import { OutboxError } from './errors.js'
import { checkOptions, checkTypes } from './options.js'
import type { Connectivity, Platform, PullConfig, SyncStrategy } from './types.js'

/** What `navigator` and its events say. */
const navigatorConnectivity: Connectivity = {
  isOnline: () => navigator.onLine,
  subscribe(listener) {
    addEventListener('online', listener)
    addEventListener('offline', listener)
    return () => {
      removeEventListener('online', listener)
      removeEventListener('offline', listener)
    }
  },
}

/**
 * Keeps everything in IndexedDB and works over all tabs of the origin.
 *
 * @param options.databaseName `std-sync` by default.
 * @param options.persist Asks the browser not to evict the data; the answer is an Event.
 */
export function browser(options: { databaseName?: string; persist?: boolean; connectivity?: Connectivity } = {}): Platform {
  checkOptions('browser()', options, ['databaseName', 'persist', 'connectivity'])
  checkTypes('browser()', options, { databaseName: 'string', persist: 'boolean', connectivity: 'object' })
  return { connectivity: navigatorConnectivity, ...options, kind: 'browser' }
}

/** Keeps everything for as long as the page lives. */
export function memory(options: { connectivity?: Connectivity } = {}): Platform {
  checkOptions('memory()', options, ['connectivity'])
  return { ...options, kind: 'memory' }
}

/** How a Collection learns of rows. */
export const syncStrategy = {
  /** Fetches what changed since a cursor, every so many milliseconds, in one tab at a time. */
  pull<T>(config: PullConfig<T>): SyncStrategy<T> {
    checkOptions('syncStrategy.pull()', config, ['fetch', 'every'], ['fetch', 'every'])
    checkTypes('syncStrategy.pull()', config, { fetch: 'function', every: 'number' })
    if (!(config.every > 0 && config.every < 2 ** 31)) {
      throw new OutboxError('invalid', `syncStrategy.pull(): the option "every" must be a positive number of milliseconds below 2^31, not ${config.every}`)
    }
    return { kind: 'pull', config }
  },
}
