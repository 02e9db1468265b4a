// Prints how large dist/outbox.wasm is, and fails above the limit.
import { readFileSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const limit = 800_000
const kB = (n) => `${(n / 1000).toFixed(0)} kB`
const wasm = readFileSync(new URL('../dist/outbox.wasm', import.meta.url))
const brotli = brotliCompressSync(wasm, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: wasm.length },
}).length
console.log(`outbox.wasm: raw ${kB(wasm.length)}, gzip ${kB(gzipSync(wasm, { level: 9 }).length)}, brotli ${kB(brotli)} (limit ${kB(limit)})`)
if (brotli > limit) {
  console.error(`outbox.wasm is ${kB(brotli - limit)} too large`)
  process.exit(1)
}
