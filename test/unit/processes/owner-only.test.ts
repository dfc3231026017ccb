import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway } from '../../../src/testing/index.ts'

const SCRIPT = `console.error('token=' + process.env.TOKEN); process.exit(1)`

test('what a server says on stderr is for the log, never for a client', async t => {
  const server = {
    type: 'stdio',
    command: process.execPath,
    args: ['-e', SCRIPT],
    env: { TOKEN: 'sk-very-secret' },
  }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams: { a: server } } }))
  const client = closeAfter(t, await testClient(gateway))

  const { error } = await client.request('tools/call', { name: 'a__x', arguments: {} })

  assert.match(String(error?.message), /it exited with code 1/)
  assert.doesNotMatch(JSON.stringify(error), /sk-very-secret/)
  assert.match(String(gateway.gateway.upstreams.get('a')?.status().problem), /it said last: token=/)
})
