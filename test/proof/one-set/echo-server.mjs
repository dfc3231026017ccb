// A legacy stdio server whose one tool says which process it is, where it runs, and what it was told.
import { createInterface } from 'node:readline'

const [name] = process.argv.slice(2)
const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name, version: '1' },
}
const ECHO = { name: 'echo', inputSchema: { type: 'object', properties: { value: { type: 'string' } } } }

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize') return answer(id, HELLO)
  if (method === 'tools/list') return answer(id, { tools: [ECHO] })
  if (method !== 'tools/call') return answer(id, {})
  const said = { name, pid: process.pid, cwd: process.cwd(), value: params.arguments?.value }
  return answer(id, { content: [{ type: 'text', text: JSON.stringify(said) }] })
})
