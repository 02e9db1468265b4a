import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Builds outbox.wasm, with build tags if any are given; a build for tests may look into the standard library. */
export function buildWasm(file, ...tags) {
  execFileSync('go', ['build', '-trimpath', `-ldflags=-s -w${tags.length > 0 ? ' -checklinkname=0' : ''}`, `-tags=${tags.join(',')}`, '-o', file, './wasm'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, GOOS: 'js', GOARCH: 'wasm' },
    stdio: 'inherit',
  })
}
