import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Builds outbox.wasm, with build tags if any are given. */
export function buildWasm(file, ...tags) {
  execFileSync('go', ['build', '-trimpath', '-ldflags=-s -w', `-tags=${tags.join(',')}`, '-o', file, './wasm'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, GOOS: 'js', GOARCH: 'wasm' },
    stdio: 'inherit',
  })
}
