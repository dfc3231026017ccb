// A server on a pipe that answers a call with the very pieces of its arguments: `$N` is the id, `$S` the same as a text, `$X` 70,000 letters.
import { createInterface } from 'node:readline'

const RESULTS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'framed', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'frame', inputSchema: { type: 'object' } }] }),
}

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'tools/call') return frame(id, params.arguments.pieces)
  const result = RESULTS[method]?.(params)
  const outcome = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`)
})

let last = Promise.resolve()

/** Pieces of two answers must not be mixed. */
function frame(id, pieces) {
  last = last.then(async () => {
    for (const piece of pieces) {
      process.stdout.write(piece.replaceAll('$N', id).replaceAll('$S', `"${id}"`).replaceAll('$X', 'x'.repeat(70_000)))
      if (pieces.length > 1) await new Promise(resolve => setImmediate(resolve))
    }
  })
}
