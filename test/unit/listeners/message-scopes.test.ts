import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Credentials, Principal } from '../../../src/api/index.ts'
import { openOldStream, serveAll } from './http/network.ts'

/** Names the caller by the token `subject:scope`. */
function principalOf({ header }: Credentials): Principal {
  const [subject = '', ...scopes] = (header('authorization')[0] ?? 'Bearer ann:all').slice(7).split(':')
  return { issuer: 'test', client: 'c', subject, scopes }
}

test('each message of HTTP+SSE runs with the scopes of the token it came with', async t => {
  const { gate, at } = await serveAll(t)
  gate.authenticate = principalOf as never
  const stream = await openOldStream(at('/sse'))

  await stream.post({ id: 1, method: 'echo/one' }, { authorization: 'Bearer ann:read' })
  await stream.post({ id: 2, method: 'echo/two' }, { authorization: 'Bearer ann:write' })
  await stream.post([{ jsonrpc: '2.0', id: 3, method: 'echo/three' }], { authorization: 'Bearer ann:read' })
  for (let i = 0; i < 3; i++) await stream.next()
  const foreign = await stream.post({ id: 4, method: 'echo/four' }, { authorization: 'Bearer bob:all' })

  assert.deepEqual(
    gate.seen.map(({ session }) => session.principal.scopes),
    [['read'], ['write'], ['read']],
  )
  assert.equal(new Set(gate.seen.map(({ session }) => session.id)).size, 1)
  assert.equal(foreign, 404)
  stream.close()
})
