import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstCall } from '../../../../src/cli/init/first-call.ts'

const tool = (name: string, annotations?: object, more: object = {}) => ({
  name,
  inputSchema: { type: 'object' },
  ...(annotations === undefined ? {} : { annotations }),
  ...more,
})
const reads = { readOnlyHint: true }

test('a tool that only reads is called first, before one that is harmless by its name', () => {
  assert.equal(firstCall([tool('a__list_all'), tool('a__look', reads)]), 'a__look')
  assert.equal(firstCall([tool('a__look', reads), tool('a__list_all', reads)]), 'a__list_all')
  assert.equal(firstCall([tool('a__frob'), tool('a__list_all')]), 'a__list_all')
  assert.equal(firstCall([tool('b__currentTime')]), 'b__currentTime')
})

test('a tool that may change something or show secrets is never called first', () => {
  for (const name of [
    'frob',
    'delete_all',
    'list_and_delete',
    'set_time',
    'resetStatus',
    'toString',
    '__proto__',
  ])
    assert.equal(firstCall([tool(`a__${name}`)]), undefined, name)
  for (const name of [
    'get-env',
    'getEnvironment',
    'list_secrets',
    'get_api_key',
    'printenv',
    'show-config',
    'ENV',
  ])
    assert.equal(firstCall([tool(`a__${name}`, reads)]), undefined, name)
  assert.equal(firstCall([tool('a__get', { readOnlyHint: false })]), undefined)
  assert.equal(firstCall([tool('a__get', { destructiveHint: true })]), undefined)
  const description = 'Returns all environment variables, for debugging.'
  assert.equal(firstCall([tool('a__get_debug', reads, { description })]), undefined)
})

test('a tool that wants arguments is not called first, and odd tools are none', () => {
  const inputSchema = { type: 'object', required: ['path'] }
  assert.equal(firstCall([tool('a__read', reads, { inputSchema })]), undefined)
  assert.equal(firstCall([{}, { name: 7 }, { name: 'a__list', annotations: 'x', description: 7 }]), 'a__list')
  assert.equal(firstCall([]), undefined)
})
