// A legacy stdio server that keeps what it was given in a file, and shows its own variables on stderr, in errors and when it crashes.
import { appendFileSync } from 'node:fs'
import { serve, say, send } from '../../unit/fixtures/servers/line-server.mjs'

const [, , seen] = process.argv
const own = Object.entries(process.env).flatMap(([name, value]) => (name.startsWith('OWN_') ? [value] : []))
const forms = own.flatMap(value => [
  value,
  Buffer.from(value).toString('base64'),
  Buffer.from(value).toString('hex'),
  encodeURIComponent(value),
])
appendFileSync(seen, `${JSON.stringify({ env: process.env, argv: process.argv })}\n`)
process.stdin.on('data', bytes => appendFileSync(seen, bytes))

serve(({ id, method, params }) => {
  if (id === undefined) return
  if (method === 'tools/list')
    return send({ id, result: { tools: ['fine', 'fail', 'crash'].map(name => ({ name, inputSchema: {} })) } })
  if (method !== 'tools/call') return send({ id, error: { code: -32601, message: 'no' } })
  const shown = forms.join(' , ')
  process.stderr.write(`${params.name} ${shown}\n`)
  if (params.name === 'fine') say(id, 'fine')
  else if (params.name === 'fail')
    send({ id, error: { code: -32000, message: shown, data: { [shown]: own } } })
  else process.stderr.write(`Error: ${shown}\n`, () => process.exit(1))
})
