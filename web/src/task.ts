/** Calls `run` in a task of its own, right after this one. */
export function nextTask(run: () => void): void {
  waiting.push(run)
  if (waiting.length === 1) channel.port2.postMessage(null)
}

const waiting: (() => void)[] = []
const channel = new MessageChannel()
channel.port1.onmessage = () => {
  for (const run of waiting.splice(0)) run()
}
