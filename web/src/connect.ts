import type { Actions } from './actions.js'
import type { Callers } from './callers.js'
import { withKey, type Entity } from './entity.js'
import { errorOf, isFailure } from './errors.js'
import type { Guard } from './host.js'
import { isVisible, onSeen } from './page.js'
import type { News, Screen } from './screen.js'
import { attempt } from './task.js'
import type { EntryRow, OutboxEvent, StdSyncConfig } from './types.js'

/** What Go calls of a Std Sync. */
export interface Parts {
  screen: Screen
  entity: Entity
  actions: Actions
  callers: Callers
  event(event: OutboxEvent): void
  status(): void
}

/**
 * Opens a Std Sync in a module, and returns its functions, and what lets go of the
 * module when it is dead.
 */
export function connect(module: Guard, config: StdSyncConfig, { screen, entity, actions, callers, event, status }: Parts): { go: Guard; release: () => void } {
  const connectivity = config.platform?.connectivity
  const stops = new Set<() => void>()
  const go = module.open(
    'createStdSync',
    {
      name: config.name,
      persistent: config.platform?.kind === 'browser',
      database: config.platform?.databaseName,
      version: config.version ?? 0,
      concurrency: config.concurrency ?? 0,
      connectivity: connectivity && steady(stops, { is: () => connectivity.isOnline(), subscribe: (listener) => connectivity.subscribe(listener) }),
      visibility: steady(stops, { is: isVisible, subscribe: onSeen }),
      listening: config.onEvent !== undefined,
      migrating: config.migrate !== undefined,
    },
    guarded({
      event: (told: OutboxEvent) => event(isFailure(told.error) ? { ...told, error: errorOf(told.error) } : told),
      news: (news: News) => {
        actions.settled(news.settled.map(([transaction]) => transaction))
        attempt(() => screen.show(news))
        entity.show(news)
      },
      stored: (...args: Parameters<Screen['stored']>) => screen.stored(...args),
      replayed: (...args: Parameters<Screen['hydrate']>) => screen.hydrate(...args),
      replayedAction: (...args: Parameters<Actions['restore']>) => actions.restore(...args),
      migrate: (entry: EntryRow, from: number) => migrated(config.migrate?.(withKey(entry), from)),
      restore: (entries: Parameters<Screen['restore']>[0]) => {
        screen.restore(entries)
        actions.restoreAll(entries)
      },
      fly: (...args: Parameters<Callers['fly']>) => callers.fly(...args),
      fetch: (...args: Parameters<Callers['fetch']>) => callers.fetch(...args),
      newer: (...args: Parameters<Callers['newer']>) => callers.newer(...args),
      abort: (...args: Parameters<Callers['abort']>) => callers.abort(...args),
      status,
    }),
  )
  return { go, release: () => stops.forEach((stop) => attempt(stop)) }
}

/** What `migrate` returned, as Go reads it. */
function migrated(entry: EntryRow | null | undefined) {
  if (typeof entry !== 'object' || entry === null) return null
  const { name, base, changes, payload } = entry
  return { name: String(name), base, changes, payload }
}

/** A signal whose functions throw nothing into Go: when in doubt, yes. */
function steady(stops: Set<() => void>, signal: { is(): boolean; subscribe(listener: () => void): () => void }) {
  const { is, subscribe } = guarded({ is: () => Boolean(signal.is()), subscribe: (listener: () => void) => signal.subscribe(listener) })
  return {
    is: () => is() ?? true,
    subscribe: (listener: () => void) => {
      const unsubscribe = subscribe(listener)
      const stop = () => {
        if (stops.delete(stop)) attempt(() => unsubscribe?.())
      }
      stops.add(stop)
      return stop
    },
  }
}

/** The same functions, none of which throws into Go. */
function guarded<T extends Record<string, (...args: never[]) => unknown>>(functions: T): T {
  return Object.fromEntries(
    Object.entries(functions).map(([name, fn]) => [
      name,
      (...args: never[]) => {
        let value: unknown
        attempt(() => (value = fn(...args)))
        return value
      },
    ]),
  ) as T
}
