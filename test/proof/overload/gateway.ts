import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'
import { createGateway } from '../../../src/gateway/gateway.ts'

// A gateway over one HTTP server, which tells how long its refusals took: from the last of the request that it read.

interface Event {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const began = new WeakMap<object, number>()
let slowestMs = 0
let refused = 0

subscribe('http.server.request.start', event => {
  const { request } = event as Event
  const note = (): void => void began.set(request, performance.now())
  note()
  request.on('end', note)
})
subscribe('http.server.response.finish', event => {
  const { request, response } = event as Event
  if (response.statusCode !== 503) return
  refused++
  slowestMs = Math.max(slowestMs, performance.now() - (began.get(request) ?? 0))
})

const gateway = await createGateway({
  version: 1,
  listeners: { main: { type: 'http', port: 0 } },
  upstreams: { web: { type: 'http', url: process.argv[2] ?? '' } },
})
await gateway.start()

for await (const line of createInterface({ input: process.stdin }))
  console.log(
    line === 'listen'
      ? gateway.listeners[0]?.url
      : JSON.stringify({ refused, slowestMs, rss: process.memoryUsage.rss() }),
  )
await gateway.close()
