/** Calls `run` in a task of its own, right after this one, or as the page goes away. */
export function nextTask(run: () => void): void {
  waiting.push(run)
  if (waiting.length === 1) channel.port2.postMessage(null)
}

/** Calls `run`; what it throws is reported and goes no further. */
export function attempt(run: () => void): void {
  try {
    run()
  } catch (error) {
    reportError(error)
  }
}

const waiting: (() => void)[] = []
const channel = new MessageChannel()
const runAll = () => {
  for (const run of waiting.splice(0)) attempt(run)
}
channel.port1.onmessage = runAll
globalThis.addEventListener?.('pagehide', runAll)
