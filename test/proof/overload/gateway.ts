import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { createGateway } from '../../../src/gateway/gateway.ts'

// A gateway over one HTTP server, which tells how long its refusals took, from the last of the request that it read, and how
// long its event loop stood still.

/** Milliseconds between two looks at the event loop. */
const LOOK_MS = 1

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
const lag = monitorEventLoopDelay({ resolution: LOOK_MS })
lag.enable()

function figures(): object {
  const [lagP99, lagMax] = [lag.percentile(99), lag.max].map(ns => ns / 1e6 - LOOK_MS)
  return { refused, slowestMs, lagP99, lagMax, rss: process.memoryUsage.rss() }
}

for await (const line of createInterface({ input: process.stdin }))
  console.log(line === 'listen' ? gateway.listeners[0]?.url : JSON.stringify(figures()))
lag.disable()
await gateway.close()
