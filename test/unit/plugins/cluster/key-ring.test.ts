import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { keyBytes, KeyRing } from '../../../../plugins/cluster/key-ring.ts'

const key = (id: string): { id: string; key: string } => ({ id, key: randomBytes(32).toString('base64') })

test('the first key seals, all open, and one that is taken out opens nothing more', () => {
  const [old, next] = [key('old'), key('next')]
  const ring = new KeyRing('g', [old])
  const sealed = ring.seal('shared', { a: 1 }, 'id')
  const id = ring.newId('r0123456789abcdef_')

  ring.setKeys([old, next])
  ring.setKeys([next, old])
  assert.deepEqual(ring.open('shared', sealed, 'id'), { a: 1 })
  assert.equal(ring.isOurs(id), true)
  assert.match(ring.seal('directory', 1, ''), /^v1\.next\./)

  ring.setKeys([next])
  assert.equal(ring.open('shared', sealed, 'id'), undefined)
  assert.equal(ring.isOurs(id), false)
})

test('what is made for one purpose, one session or one gateway is worth nothing for another', () => {
  const one = key('a')
  const ring = new KeyRing('g', [one])
  const sealed = ring.seal('shared', 1, 'id')

  assert.equal(ring.open('shared', sealed, 'other id'), undefined)
  assert.equal(ring.open('seal', sealed, 'id'), undefined)
  assert.equal(new KeyRing('other', [one]).open('shared', sealed, 'id'), undefined)
  assert.equal(new KeyRing('g', [key('a')]).open('shared', sealed, 'id'), undefined)
  for (const broken of ['', 'v1', 'v1.a', 'v1.a..', 'v1.a.x.e30', `${sealed}.x`.slice(1), sealed.slice(0, -2)])
    assert.equal(ring.open('shared', broken, 'id'), undefined)
})

test('an id that was changed anywhere is not ours', () => {
  const ring = new KeyRing('g', [key('a')])
  const id = ring.newId('r0123456789abcdef_')

  assert.equal(ring.isOurs(id), true)
  for (const at of [1, 20, 40, id.length - 1]) {
    const other = id[at] === 'a' ? 'b' : 'a'
    assert.equal(ring.isOurs(id.slice(0, at) + other + id.slice(at + 1)), false)
  }
})

test('a key is 32 random bytes or more as base64 or hex', () => {
  assert.equal(keyBytes('00'.repeat(32))?.length, 32)
  assert.equal(keyBytes(`${randomBytes(32).toString('base64')}\n`)?.length, 32)
  assert.equal(keyBytes(randomBytes(32).toString('base64url'))?.length, 32)
  assert.equal(keyBytes('a password that is long enough, but no key'), undefined)
  assert.equal(keyBytes(randomBytes(31).toString('base64')), undefined)
  assert.throws(() => new KeyRing('g', [{ id: 'x', key: 'short' }]), { code: 'GW_CLUSTER_KEY' })
})
