/** Whether somebody can see this page. What is no page always can. */
export function isVisible(): boolean {
  return globalThis.document?.visibilityState !== 'hidden'
}

/**
 * Calls `listener` when the page is shown or hidden, and when it comes back from
 * having been frozen or from the browser's cache of pages, until the returned
 * function is called.
 */
export function onSeen(listener: () => void): () => void {
  const { document } = globalThis
  if (!document) return () => undefined
  const restored = (event: PageTransitionEvent) => {
    if (event.persisted) listener()
  }
  document.addEventListener('visibilitychange', listener)
  document.addEventListener('resume', listener)
  addEventListener('pageshow', restored)
  return () => {
    document.removeEventListener('visibilitychange', listener)
    document.removeEventListener('resume', listener)
    removeEventListener('pageshow', restored)
  }
}
