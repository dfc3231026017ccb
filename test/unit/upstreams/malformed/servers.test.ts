import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RawServer, rawServer, startMalformed } from '../../../fixtures/malformed-upstream.ts'

const badGateway: RawServer = (_request, response) =>
  void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad gateway</html>')

test('clients of both SDKs use the good servers beside broken ones', async t => {
  const servers = {
    legacy: rawServer(() => undefined),
    modern: rawServer(() => undefined, 'modern'),
    html: badGateway,
  }
  const { peers } = await startMalformed(t, { servers })

  const lists = await peers.useGood()

  for (const { tools } of lists.values()) assert.equal(tools.length, 2)
})
