import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUnreachable } from '../src/callbacks.js'
import { describe, errorOf, OutboxUnreachable } from '../src/errors.js'

test('a stored failure becomes an error with its cause', () => {
  const error = errorOf({ failure: true, code: 'failed', message: 'refused', entryId: 'e', stored: { name: 'Refused', message: 'no', code: '422' } })
  assert.equal(error.name, 'OutboxError')
  assert.equal(error.entryId, 'e')
  const { name, message, code } = error.cause as Error & { code: string }
  assert.deepEqual([name, message, code], ['Refused', 'no', '422'])
})

test('anything can be thrown, and is described', () => {
  assert.deepEqual(describe(new TypeError('x')), { name: 'TypeError', message: 'x' })
  assert.deepEqual(describe('text'), { name: 'Error', message: 'text' })
  assert.deepEqual(describe(undefined), { name: 'Error', message: 'undefined' })
  assert.deepEqual(describe({ _tag: 'Conflict', message: 'y', code: 412 }), { name: 'Conflict', message: 'y', code: '412' })
})

test('unreachable is told by name, by tag, and by a failed fetch', () => {
  assert.equal(isUnreachable(new OutboxUnreachable(), []), true)
  assert.equal(isUnreachable({ _tag: 'OutboxUnreachable' }, []), true)
  assert.equal(isUnreachable(Object.assign(new Error('x'), { name: 'OutboxUnreachable' }), []), true)
  assert.equal(isUnreachable(new TypeError('Failed to fetch'), []), true)
  assert.equal(isUnreachable(new TypeError('x is not a function'), []), false)
  assert.equal(isUnreachable(new Error('status 400'), []), false)
  assert.equal(isUnreachable(undefined, []), false)
})

test('classify has the last word, the nearest first', () => {
  const failed = () => 'failed' as const
  const away = () => 'unreachable' as const
  assert.equal(isUnreachable(new OutboxUnreachable(), [failed]), false)
  assert.equal(isUnreachable(new Error('x'), [undefined, away]), true)
  assert.equal(isUnreachable(new Error('x'), [failed, away]), false)
  assert.equal(isUnreachable(new OutboxUnreachable(), [() => undefined]), true)
})
