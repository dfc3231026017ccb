import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toAgentFailure, RpcFault } from '../../../../plugins/agents/acp/rpc-connection.ts'
import { agentWorld } from './kit.ts'

test('an agent whose program is not there is known to be so before it is first wanted', async t => {
  const world = await agentWorld(t)

  assert.equal(world.pool({ command: '/nowhere/agent' }).health.state, 'unavailable')
  assert.equal(world.pool().health.state, 'unknown')
})

test('the cause of a failure is told, and a limit of the model is one wherever it stands', () => {
  const of = (data: unknown) => toAgentFailure(new RpcFault(-32603, 'Internal error', data), 'a', 'prompt')
  const quota = '{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota"}}'

  assert.match(of({ details: 'the key is revoked' }).message, /Internal error \(-32603\): the key is revoked/)
  assert.match(of({ error: { message: 'deep' } }).message, /: deep$/)
  assert.equal(of({ details: 'the key is revoked' }).kind, 'refused')
  for (const details of [
    quota,
    `got status: 429 Too Many Requests. ${quota}`,
    '429 Too Many Requests',
    'Error code: 429 - {}',
  ])
    assert.equal(of({ details }).kind, 'limit', details)
  for (const details of ['port 4290 is taken', 'line 429 of the file', 'no quota was met', '{"a":'])
    assert.equal(of({ details }).kind, 'refused', details)
})
