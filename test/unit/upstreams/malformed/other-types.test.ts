import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bench, stdioSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'

test('answers, progress and cancellations are matched whose ids have the other JSON type', async t => {
  const it = await bench(t, stdioSpec([fileURLToPath(new URL('other-types-server.ts', import.meta.url))]))
  it.reply = () => new Promise(() => undefined)
  const call = toolCall('any', {}, { progressToken: 'mine' }, { capabilities: { elicitation: {} } })

  assert.equal(textOf(await it.upstream.dispatch(call)), 'done')

  assert.deepEqual(
    call.emitted.map(({ params }) => params),
    [{ progressToken: 'mine', progress: 1 }],
  )
  assert.deepEqual(
    it.asked.map(({ ask }) => ask.isCancelled),
    [true, true],
  )
  assert.equal(it.upstream.dropped, undefined)
})

/** Pings with each id when it is called, and answers with the lines that come back. */
const PINGING = `
const ids = process.argv.slice(1), lines = []
let call
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  if (method === 'initialize')
    answer(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'p', version: '1' } })
  else if (method === 'tools/call') {
    call = id
    for (const id of ids) console.log('{"jsonrpc":"2.0","id":' + id + ',"method":"ping"}')
  } else if (method === undefined && lines.push(line) === ids.length)
    answer(call, { content: [{ type: 'text', text: lines.join(' ') }] })
  else if (id !== undefined && method !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }))
})`

test('a ping of a server is answered with all digits of its id', async t => {
  const ids = ['9007199254740993', '9007199254740992', '-123456789012345678901234567890']
  const { upstream } = await bench(t, stdioSpec(['-e', PINGING, ...ids]))

  const answers = textOf(await upstream.dispatch(toolCall('any', {})))

  for (const id of ids) assert.ok(answers.includes(`"id":${id},`), answers)
})
