/** Calls `run` in a task of its own, right after this one, or as the page goes away. */
export function nextTask(run: () => void): void {
  waiting.push(run)
  channel ??= open()
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
let channel: MessageChannel | undefined

function open(): MessageChannel {
  const made = new MessageChannel()
  made.port1.onmessage = runAll
  addEventListener('pagehide', runAll)
  return made
}

function runAll(): void {
  for (const run of waiting.splice(0)) attempt(run)
}
