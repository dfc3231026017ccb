import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitForServers } from '../../../../src/cli/init/wait-for-servers.ts'

type Rows = readonly (readonly [name: string, state: string])[]

/** A gateway whose servers are so, one look after the other; the last look is that of all others. */
function gatewayWith(looks: readonly Rows[]) {
  let look = 0
  const request = async () => {
    const rows = looks[Math.min(look++, looks.length - 1)] ?? []
    return { upstreams: rows.map(([name, state]) => ({ name, state })) }
  }
  return { request, looks: () => look }
}

test('servers that start are waited for, and said; one that has failed, rests or was stopped is not', async () => {
  const steps: string[] = []
  const { request, looks } = gatewayWith([
    [
      ['a', 'starting'],
      ['b', 'starting'],
      ['c', 'failed'],
    ],
    [
      ['a', 'ready'],
      ['b', 'starting'],
      ['c', 'failed'],
    ],
    [
      ['a', 'ready'],
      ['b', 'needs_auth'],
      ['c', 'failed'],
    ],
  ])
  assert.deepEqual(await waitForServers({ request }, step => void steps.push(step)), [])
  assert.equal(looks(), 3)
  assert.deepEqual(steps, [
    'waiting for a, b (1 of 3 servers are done)',
    'waiting for b (2 of 3 servers are done)',
  ])
})

test('the wait has an end, and says which servers start still', async () => {
  const { request } = gatewayWith([[['slow', 'starting']]])
  assert.deepEqual(await waitForServers({ request }, () => undefined, 0), ['slow'])
})

test('a gateway without servers is waited for no longer than a look', async () => {
  const { request } = gatewayWith([[]])
  assert.deepEqual(await waitForServers({ request }, () => assert.fail()), [])
})
