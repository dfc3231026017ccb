// A server on stdio in the mood that a file says, read anew for each line: {"lists": "broken"}, {"noise": 1100},
// {"tools": […]}, {} for a good one.
// Without the file it ends at once.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const file = process.argv[2] ?? 'mood.json'
const mood = () => JSON.parse(readFileSync(file, 'utf8'))
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

for (let line = 0; line < (mood().noise ?? 0); line++) process.stdout.write('not a message\n')

const capabilities = { tools: {} }
const ANSWERS = {
  initialize: () => ({
    result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'moody', version: '1' } },
  }),
  'tools/list': () =>
    mood().lists === 'broken'
      ? { error: { code: -32603, message: 'not in the mood' } }
      : { result: { tools: mood().tools ?? [{ name: 'run', inputSchema: { type: 'object' } }] } },
  'tools/call': () => ({ result: { content: [{ type: 'text', text: 'ran' }] } }),
}

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const answer = ANSWERS[method]
  send({ id, ...(answer === undefined ? { error: { code: -32601, message: 'no such method' } } : answer()) })
})
