import type { Connectivity } from 'outbox-wasm'

const key = 'demo-offline'

/** The page's offline switch, the same in every tab, over what the browser says. */
export const network = {
  get off(): boolean {
    return localStorage.getItem(key) === 'yes'
  },
  set off(off: boolean) {
    localStorage.setItem(key, off ? 'yes' : 'no')
    dispatchEvent(new Event('demo-network'))
  },
}

export const connectivity: Connectivity = {
  isOnline: () => navigator.onLine && !network.off,
  subscribe(listener) {
    const events = ['online', 'offline', 'demo-network', 'storage']
    for (const event of events) addEventListener(event, listener)
    return () => {
      for (const event of events) removeEventListener(event, listener)
    }
  },
}
