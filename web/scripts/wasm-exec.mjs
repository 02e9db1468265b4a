// Turns the toolchain's wasm_exec.js into an ES module that touches no global:
// what it would put on globalThis stays inside, and Go gets the global object
// that whoever instantiates it chooses. A changed wasm_exec.js fails here.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const go = (name) => execFileSync('go', ['env', name], { encoding: 'utf8' }).trim()

export function wasmExec() {
  let source = readFileSync(`${go('GOROOT')}/lib/wasm/wasm_exec.js`, 'utf8')
  const replace = (what, by, times) => {
    const parts = source.split(what)
    if (parts.length !== times + 1) throw new Error(`wasm_exec.js of ${go('GOVERSION')} has ${parts.length - 1} of ${JSON.stringify(what)}, not ${times}`)
    source = parts.join(by)
  }
  for (const name of ['fs', 'process', 'path']) replace(`globalThis.${name}`, `stubs.${name}`, 2)
  replace('globalThis.Go', 'stubs.Go', 1)
  replace('\tfs.writeSync', '\tstubs.fs.writeSync', 1)
  replace('\tglobalThis,\n', '\tthis.global,\n', 1)
  replace('[globalThis, 5]', '[this.global, 5]', 1)
  return `// Made from ${go('GOVERSION')}'s lib/wasm/wasm_exec.js by scripts/wasm-exec.mjs.
const stubs = {}
${source}
const { Go, ...env } = stubs
export { Go, env }
`
}
