import assert from 'node:assert/strict'
import { test } from 'node:test'
import { covers, keyOf, keyText, spread, storable } from '../src/rows.js'

test('a spread keeps a __proto__ field as data', () => {
  const row = spread(JSON.parse('{"a":1,"__proto__":{"x":1}}') as Record<string, unknown>, { b: 2 })
  assert.deepEqual(Object.keys(row).sort(), ['__proto__', 'a', 'b'])
  assert.equal(Object.getPrototypeOf(row), Object.prototype)
  assert.equal((row as { x?: number }).x, undefined)
})

test('a removed field stays a removed field', () => {
  assert.deepEqual(spread({ a: 1, b: 2 }, { a: undefined }), { a: undefined, b: 2 })
})

test('a row covers another that has no field it lacks', () => {
  assert.equal(covers({ a: 1, b: 2 }, { a: 3 }), true)
  assert.equal(covers({ a: 1 }, { a: 1, b: 2 }), false)
  assert.equal(covers({}, { constructor: 1 }), false)
})

test('what is stored is a copy without TanStack\'s additions', () => {
  const when = new Date(0)
  const row = { a: { deep: [1] }, when, tags: new Set(['x']), big: 1n, $ref: 'mine', $synced: false, $key: 'k', $origin: 'local', $collectionId: 'c', $hasPendingWrites: true }
  const copy = storable('todos', row)
  assert.deepEqual(copy, { a: { deep: [1] }, when, tags: new Set(['x']), big: 1n, $ref: 'mine' })
  row.a.deep.push(2)
  assert.deepEqual(copy['a'], { deep: [1] })
})

test('a value that cannot be stored is refused with the name of its field', () => {
  assert.throws(() => storable('todos', { id: 1, onClick: () => undefined }), (error: { code: string; message: string }) => {
    assert.equal(error.code, 'not-storable')
    assert.match(error.message, /^todos: the field "onClick" cannot be stored/)
    return true
  })
})

test('keys of another type are told apart', () => {
  for (const key of [1, '1', 0, '', -2.5, 'n:1', 's:1', '😀']) assert.equal(keyOf(keyText(key)), key)
  assert.notEqual(keyText(1), keyText('1'))
})
