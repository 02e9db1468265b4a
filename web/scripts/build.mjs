// Builds the package into dist/: outbox.wasm, index.js and the types.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildWasm } from './wasm.mjs'
import { wasmExec } from './wasm-exec.mjs'

const web = fileURLToPath(new URL('..', import.meta.url))
const run = (command, args, options) => execFileSync(command, args, { cwd: web, stdio: 'inherit', ...options })

mkdirSync(`${web}/dist`, { recursive: true })
writeFileSync(`${web}/src/generated/wasm_exec.js`, wasmExec())
buildWasm(`${web}/dist/outbox.wasm`)
await build({
  entryPoints: [`${web}/src/index.ts`],
  outfile: `${web}/dist/index.js`,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  external: ['@tanstack/db'],
  sourcemap: true,
  minifySyntax: true,
  legalComments: 'inline',
})
run('npx', ['tsc', '-p', 'tsconfig.build.json'])
cpSync(`${web}/src/generated/wasm_exec.d.ts`, `${web}/dist/generated/wasm_exec.d.ts`)
