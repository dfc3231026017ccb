// A legacy server on a pipe that writes each id and token in the other JSON type.
import { createInterface } from 'node:readline'
import type { Said } from '../transports/network-upstream.ts'

/** What the server says to a message: messages as JSON texts. */
function replies({ id, method, params }: Said): string[] {
  if (id === undefined) return []
  const write = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message })
  if (method === 'initialize') return [write({ id: flipped(id), result: HELLO })]
  if (method !== 'tools/call') return [write({ id: flipped(id), error: { code: -32601, message: 'Method not found' } })]
  const { progressToken } = params?._meta as { progressToken: number }
  return [
    write({
      method: 'notifications/progress',
      params: { progressToken: flipped(progressToken), progress: 1 },
    }),
    ...[ASKED, String(ASKED + 1)].flatMap(ask => [
      write({ id: ask, method: 'elicitation/create', params: { message: 'well?', requestedSchema: {} } }),
      write({ method: 'notifications/cancelled', params: { requestId: flipped(ask) } }),
    ]),
    write({ id: flipped(id), result: { content: [{ type: 'text', text: 'done' }] } }),
  ]
}

const ASKED = 7000
const HELLO = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'other-types', version: '1' },
}

function flipped(id: number | string): number | string {
  if (typeof id === 'number') return String(id)
  return id.startsWith('probe') ? id : Number(id)
}

createInterface({ input: process.stdin }).on('line', line => {
  for (const reply of replies(JSON.parse(line) as Said)) console.log(reply)
})
