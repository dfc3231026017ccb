/** Yardstick: each line of stdin POSTed, each reply a line. `raw-stdio-http.ts <url>`. */
import { Agent, request } from 'node:http'
import { Lines } from './lines.ts'

const url = new URL(process.argv[2] ?? '')
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const lines = new Lines(line => {
  const post = request(
    url,
    { agent, method: 'POST', headers: { ...headers, 'content-length': line.length } },
    reply => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () => {
        if (chunks.length > 0) process.stdout.write(Buffer.concat([...chunks, Buffer.from('\n')]))
      })
    },
  )
  post.on('error', () => process.exit(1))
  post.end(line)
})
process.stdin.on('data', (chunk: Buffer) => lines.push(chunk))
process.stdin.on('end', () => process.exit())
