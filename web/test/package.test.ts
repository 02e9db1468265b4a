import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const web = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(`${web}/package.json`, 'utf8')) as { exports: Record<string, string | Record<string, string>> }
const [packed] = JSON.parse(execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: web, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })) as { files: { path: string }[] }[]
const files = packed!.files.map(({ path }) => path)

test('the package holds what its exports name', () => {
  for (const entry of Object.values(manifest.exports)) {
    for (const path of typeof entry === 'string' ? [entry] : Object.values(entry)) {
      assert.ok(files.includes(path.replace('./', '')), `${path} is not packed`)
    }
  }
})

test('the types come first, and the package holds nothing but dist', () => {
  assert.equal(Object.keys(manifest.exports['.'] as Record<string, string>)[0], 'types')
  assert.deepEqual(files.filter((path) => !path.startsWith('dist/')), ['package.json'])
})

test('the script imports nothing but the app\'s TanStack DB', () => {
  const script = readFileSync(`${web}/dist/index.js`, 'utf8')
  const imported = [...script.matchAll(/(?:from|import\()\s*["']([^"']+)["']/g)].map(([, name]) => name)
  assert.deepEqual([...new Set(imported)], ['@tanstack/db'])
})
