import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RpcPeer } from '../../../src/protocol/rpc-peer.ts'

interface Named {
  readonly name: string
}

const peer = (sent = 10, received = 10): RpcPeer<Named, Named> => new RpcPeer({ sent, received })

describe('requests of ours', () => {
  it('are answered once', () => {
    const it = peer()
    const request = { name: 'one' }
    it.addSent(1, request)
    assert.equal(it.takeSent(1), request)
    assert.equal(it.takeSent(1), undefined)
  })

  it('are answered by a number that was echoed as a text, and by a text that was echoed as a number', () => {
    const it = peer()
    const [number, text, both] = [{ name: 'number' }, { name: 'text' }, { name: 'both' }]
    it.addSent(1, number)
    it.addSent('2', text)
    it.addSent('1', both)
    assert.equal(it.takeSent('1'), both)
    assert.equal(it.takeSent('1'), number)
    assert.equal(it.takeSent(2), text)
    assert.equal(it.sent.size, 0)
  })

  it('are not answered by an id of another value, or by none', () => {
    const it = peer()
    it.addSent(1, { name: 'one' })
    for (const id of ['01', ' 1', '1.0', '', 1n, null, undefined, { id: 1 }, [1]])
      assert.equal(it.takeSent(id), undefined)
    assert.equal(it.sent.size, 1)
  })

  it('beyond the bound are not noted until another is answered', () => {
    const it = peer(2)
    for (const id of [1, 2]) assert.equal(it.addSent(id, { name: `${id}` }), true)
    assert.equal(it.addSent(3, { name: '3' }), false)
    assert.equal(it.takeSent(3), undefined)
    it.takeSent(1)
    assert.equal(it.addSent(3, { name: '3' }), true)
  })
})

describe('requests of the other side', () => {
  it('are answered once', () => {
    const it = peer()
    const request = { name: 'one' }
    assert.equal(it.addReceived('a', request), 'taken')
    assert.equal(it.settleReceived('a', request), true)
    assert.equal(it.settleReceived('a', request), false)
  })

  it('get no answer once they are cancelled', () => {
    const it = peer()
    const request = { name: 'one' }
    it.addReceived(7, request)
    assert.equal(it.takeReceived(7), request)
    assert.equal(it.settleReceived(7, request), false)
    assert.equal(it.takeReceived(7), undefined)
    assert.equal(it.takeReceived({ id: 7 }), undefined)
    it.addReceived(8, request)
    assert.equal(it.takeReceived('8'), request)
  })

  it('get no late answer of one that had the same id', () => {
    const it = peer()
    const [first, second] = [{ name: 'first' }, { name: 'second' }]
    it.addReceived(7, first)
    it.takeReceived(7)
    it.addReceived(7, second)
    assert.equal(it.settleReceived(7, first), false)
    assert.equal(it.settleReceived(7, second), true)
  })
})

describe('a conversation that is over', () => {})
