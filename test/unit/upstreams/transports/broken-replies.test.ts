import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bench, script, stdioSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'

const DEEP = '['.repeat(100_000)
const REPLIES: Record<string, string> = {
  'a literal that breaks off': '{"jsonrpc":"2.0","id":ID,"result":{"content":tru}}',
  'a number with a zero in front': '{"jsonrpc":"2.0","id":ID,"result":{"content":01}}',
  'a number that is none': '{"jsonrpc":"2.0","id":ID,"result":{"content":NaN}}',
  'an escape that JSON lacks': '{"jsonrpc":"2.0","id":ID,"result":{"content":"\\x41"}}',
  'a comma too many': '{"jsonrpc":"2.0","id":ID,"result":{"content":[1,]}}',
  'a raw control character': '{"jsonrpc":"2.0","id":ID,"result":{"content":"a\tb"}}',
  'its id behind what is broken': '{"result":{"content":tru},"id":ID,"jsonrpc":"2.0"}',
  'nesting deeper than 64': `{"jsonrpc":"2.0","id":ID,"result":{"content":${DEEP}${']'.repeat(100_000)}}}`,
  'nesting deeper than 64, and its id behind it': `{"result":${DEEP}${']'.repeat(100_000)},"id":ID,"jsonrpc":"2.0"}`,
  'more than a million values': `{"jsonrpc":"2.0","id":ID,"result":{"content":[${'0,'.repeat(1_000_000)}0]}}`,
  'bytes that are not UTF-8': '{"jsonrpc":"2.0","id":ID,"result":{"content":"\xff"}}',
}

describe('a reply that is no JSON, or not taken', () => {
  for (const [what, reply] of Object.entries(REPLIES)) {
    it(`with ${what} fails its own call at once, and no other on the same pipe`, async t => {
      const { upstream } = await bench(t, stdioSpec([script('broken-server.mjs')]))
      await upstream.start()
      const line = Buffer.from(reply, 'latin1').toString('base64')

      const calls = await Promise.allSettled([
        upstream.dispatch(toolCall('break', { line })),
        upstream.dispatch(toolCall('echo', {})),
      ])

      const [broken, fine] = calls
      assert.ok(broken.status === 'rejected' && fine.status === 'fulfilled')
      assert.equal((broken.reason as { code?: string }).code, 'GW_UPSTREAM_PROTOCOL')
      assert.equal(textOf(fine.value), 'fine')
      assert.equal(upstream.state, 'ready')
    })
  }

  it('does not fail the call whose id a broken request of the server happens to have', async t => {
    const { upstream } = await bench(t, stdioSpec([script('broken-server.mjs')]))
    await upstream.start()
    const request = '{"jsonrpc":"2.0","id":ID,"method":"ping","params":{"a":tru}}'
    const line = Buffer.from(request).toString('base64')

    const answer = await Promise.race([
      upstream.dispatch(toolCall('break', { line })),
      upstream.dispatch(toolCall('echo', {})),
    ])

    assert.equal(textOf(answer), 'fine')
  })
})
