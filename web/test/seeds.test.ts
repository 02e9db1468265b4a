import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

/** Whether a file of tests has one of that name. */
function has(where: string, name: string): boolean {
  if (where.startsWith('outbox/')) return read(`${where}.go`).includes(`func ${name}(t `)
  const story = /^story: (.+)$/.exec(name)?.[1]
  const page = story && ['fast-edits-offline', 'a-refused-write', 'logout', 'a-move'].find((page) => read(`docs/stories/${page}.md`).startsWith(`# ${story}\n`))
  const source = read(`web/${where}.e2e.ts`)
  return page ? source.includes(`story('${page}', {`) : source.includes(`test('${name.replaceAll("'", "\\'")}', async`)
}

test('every row of docs/seeds.md names code and tests that are there', () => {
  const rows = [...read('docs/seeds.md').matchAll(/^\| (?!asks|---)(.+) \| `(.+)` \| (.+) \|$/gm)]
  const lines = read('docs/seeds.md').split('\n').filter((line) => line.startsWith('|')).length
  assert.equal(rows.length, lines - 4, 'every row is read')
  for (const [, asks, code, tests] of rows) {
    assert.ok(existsSync(new URL(code!, root)), `${asks}: there is no ${code}`)
    for (const named of tests!.split(' · ')) {
      const [, where, name] = /^(\S+): (.+)$/.exec(named) ?? []
      assert.ok(where && name && has(where, name), `${asks}: there is no test "${named}"`)
    }
  }
})
