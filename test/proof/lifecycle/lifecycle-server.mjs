// A legacy server that writes down what happens to it: lines of `what pid time detail` in the file it is given.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [file, mode] = process.argv.slice(2)
const note = (what, detail = '') =>
  appendFileSync(file, `${what} ${process.pid} ${performance.timeOrigin + performance.now()} ${detail}\n`)
const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

note('spawned')
if (mode === 'crash') process.exit(1)

const METHODS = {
  initialize: (id, { protocolVersion }) => {
    note('initialized')
    send({
      id,
      result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'proof', version: '1' } },
    })
  },
  'tools/list': id => send({ id, result: { tools: [{ name: 'mark', inputSchema: { type: 'object' } }] } }),
  'tools/call': (id, { arguments: args }) => {
    note('executed', args.mark)
    const answer = () => send({ id, result: { content: [{ type: 'text', text: args.mark }] } })
    setTimeout(answer, Math.random() * 10)
  },
}

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  METHODS[method]?.(id, params)
})
