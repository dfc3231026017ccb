/** Yardstick: a reverse proxy of a few lines of Node. `raw-http-http.ts <url>`; prints its own URL. */
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

const target = new URL(process.argv[2] ?? '')
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

const server = createServer({ keepAliveTimeout: 300_000 }, (incoming, outgoing) => {
  const { method, url, headers } = incoming
  const options = { agent, host: target.hostname, port: target.port, method, path: url, headers }
  const forward = request(options, reply => {
    outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
    reply.pipe(outgoing)
  })
  forward.on('error', () => outgoing.writeHead(502).end())
  incoming.pipe(forward)
})
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}${target.pathname}`)
})
process.on('disconnect', () => process.exit())
