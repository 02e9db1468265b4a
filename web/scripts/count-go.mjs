// Reads go test -json, prints what failed and a line a package, and counts.
import { createInterface } from 'node:readline'

const counts = { pass: 0, fail: 0, skip: 0 }
const output = new Map()
let failed = false
for await (const line of createInterface({ input: process.stdin })) {
  let event
  try {
    event = JSON.parse(line)
  } catch {
    console.log(line)
    continue
  }
  const { Action: action, Package: name, Test: test, Output: text, Elapsed: elapsed } = event
  const key = `${name} ${test ?? ''}`
  if (action === 'build-output') process.stdout.write(text)
  if (action === 'build-fail') failed = true
  if (action === 'output') output.set(key, (output.get(key) ?? '') + text)
  if (!(action in counts)) continue
  if (test) counts[action]++
  if (action === 'fail') {
    failed = true
    process.stdout.write(output.get(key) ?? '')
  }
  if (!test && action !== 'skip') console.log(`${action === 'pass' ? 'ok  ' : 'FAIL'} ${name} ${elapsed}s`)
  output.delete(key)
}
console.log(`${process.argv[2]}: ${counts.pass} passed, ${counts.fail} failed, ${counts.skip} skipped`)
if (failed || counts.pass === 0) process.exit(1)
