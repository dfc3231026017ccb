// Calls a gateway from one address with a small request again and again until it is asked for the figures: milliseconds until each
// answer, whatever its status.
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as passed } from 'node:timers/promises'

const PAUSE_MS = 20
const [url = '', session = '', localAddress] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const BODY = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
const times: number[] = []
let broken = 0

function ping(): Promise<void> {
  const begin = performance.now()
  const headers = {
    'content-type': 'application/json',
    'content-length': BODY.length,
    accept: 'application/json, text/event-stream',
    'mcp-session-id': session,
  }
  return new Promise(resolve => {
    const sent = request(url, { method: 'POST', agent, headers, localAddress }, response => {
      times.push(performance.now() - begin)
      response.resume()
      response.on('close', resolve)
    })
    sent.on('error', () => {
      broken++
      resolve()
    })
    sent.end(BODY)
  })
}

async function go(): Promise<never> {
  for (;;) {
    await ping()
    await passed(PAUSE_MS)
  }
}

void go()
createInterface({ input: process.stdin }).once('line', () => {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  console.log(JSON.stringify({ count: times.length, broken, median: at(0.5), p99: at(0.99), max: at(1) }))
  process.exit()
})
await go()
