import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClientSide } from '../../../src/api/index.ts'
import { PipelineSession, baseOf } from '../../../src/core/session.ts'

const CLIENT: ClientSide = {
  info: { name: 'test', version: '1' },
  capabilities: {},
  version: '2026-07-28',
  era: 'modern',
  logLevel: undefined,
}
const ANN = { issuer: 'test', client: 'c', subject: 'ann', scopes: ['read'] }

function session(): PipelineSession {
  return new PipelineSession({
    id: 's',
    listener: 'main',
    principal: ANN,
    client: CLIENT,
    notify: () => true,
  })
}

describe('a session as a request sees it', () => {
  test('is the session itself where the request says nothing else, or the same again', () => {
    const one = session()
    assert.equal(one.seenBy({}), one)
    assert.equal(one.seenBy({ client: CLIENT, principal: { ...ANN, scopes: ['read'] } }), one)
  })

  test('has the label, the client and the scopes of the request, and the slots of the session', () => {
    const one = session()
    const client = { ...CLIENT, version: '2027-01-01' }
    const seen = one.seenBy({ label: 'a', client, principal: { ...ANN, scopes: ['write'] } })
    assert.deepEqual([seen.id, seen.label, seen.client, seen.principal.scopes], ['s', 'a', client, ['write']])
    one.slots[0] = 'kept'
    assert.equal(seen.slots[0], 'kept')
    assert.deepEqual([one.label, one.client, one.principal], [undefined, CLIENT, ANN])
  })

  test('is the same one for each request with the same label or client, so that what is kept for it is found', () => {
    const one = session()
    const client = { ...CLIENT }
    assert.equal(one.seenBy({ label: 'a' }), one.seenBy({ label: 'a' }))
    assert.equal(one.seenBy({ client }), one.seenBy({ client }))
    assert.notEqual(one.seenBy({ label: 'a' }), one.seenBy({ label: 'b' }))
  })

  test('leads back to the conversation, however it differs', () => {
    const one = session()
    const twice = one.seenBy({ label: 'a', principal: { ...ANN, scopes: [] } }).seenBy({ label: 'b' })
    assert.equal(baseOf(twice), one)
  })
})
