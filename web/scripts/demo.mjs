// Builds the demo page into demo/public/, and the page of the end-to-end tests
// into e2e/public/. dist/ must have been built.
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildWasm } from './wasm.mjs'

const web = fileURLToPath(new URL('..', import.meta.url))

async function page(folder, entry, files) {
  const out = `${web}/${folder}/public`
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  for (const file of files) cpSync(`${web}/${folder}/${file}`, `${out}/${file}`)
  cpSync(`${web}/dist/outbox.wasm`, `${out}/outbox.wasm`)
  await build({
    entryPoints: { [entry.name]: `${web}/${folder}/${entry.file}` },
    outdir: out,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    sourcemap: 'linked',
    define: { 'process.env.NODE_ENV': '"production"' },
    alias: { 'outbox-wasm': `${web}/dist/index.js` },
  })
}

await page('demo', { name: 'demo', file: 'src/demo.ts' }, ['index.html', 'demo.css'])
await page('e2e', { name: 'page', file: 'page/page.ts' }, ['index.html'])
buildWasm(`${web}/e2e/public/crashable.wasm`, 'crashable')
