import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { LAUNCHER, writeConfig } from '../../peers/gateway.ts'
import { testClient, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'

/** After it has heard of the cancellation the server answers all the same, this much later. */
const LATE_MS = 30

/** Outcome of calls that their client gave up. */
export interface Cancelled {
  readonly calls: number
  /** Milliseconds from the client's word to the server's ear, one for each call that was heard of. */
  readonly times: readonly number[]
  /** Calls that the gateway still counts when all late replies are in. */
  readonly pending: number
}

interface Server {
  readonly upstream: TestUpstream
  readonly heard: number[]
  readonly begun: () => number
}

/** Calls that are under way together, given up one after the other as their era does: by the end of the request, or by a notification. */
export async function overHttp(era: 'modern' | 'legacy', calls: number): Promise<Cancelled> {
  const server = await hangingServer()
  const gateway = await testGateway({ upstreams: { web: server.upstream } })
  const client = await testClient(gateway, { era })
  try {
    const running = Array.from({ length: calls }, () => client.start('tools/call', { name: 'web__hang' }))
    const replies = Promise.allSettled(running.map(({ reply }) => reply))
    await until(() => server.begun() === calls, `all ${calls} calls are there`)
    const times: number[] = []
    for (const call of running) {
      const from = performance.now()
      await Promise.all([call.cancel(), until(() => server.heard.length > times.length, 'it is heard of')])
      times.push((server.heard.at(-1) ?? Infinity) - from)
    }
    await new Promise(resolve => setTimeout(resolve, 5 * LATE_MS))
    const pending = pendingOf((await gateway.gateway.control('ps')) as unknown as Ps)
    if (era === 'modern') await replies
    return { calls, times, pending }
  } finally {
    for (const one of [client, gateway, server.upstream]) await one[Symbol.asyncDispose]()
  }
}

/** Calls over a pipe whose client goes away. The gateway ends then, so that nothing can be pending. */
export async function atEndOfInput(calls: number): Promise<Cancelled> {
  const { upstream, heard, begun } = await hangingServer()
  const { file, remove } = await writeConfig({
    version: 1,
    upstreams: { web: { type: 'http', url: upstream.url } },
  })
  const child = spawn(process.execPath, [LAUNCHER, 'serve', '--stdio', '-c', file], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = once(child, 'exit')
  try {
    const say = (message: object): unknown =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const clientInfo = { name: 'proof', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    say({ id: 0, method: 'initialize', params })
    say({ method: 'notifications/initialized' })
    for (let id = 1; id <= calls; id++) say({ id, method: 'tools/call', params: { name: 'web__hang' } })
    await until(() => begun() === calls, `all ${calls} calls are there`)
    const from = performance.now()
    child.stdin.end()
    await until(() => heard.length === calls, 'the server hears of each').catch(() => undefined)
    return { calls, times: heard.map(at => at - from), pending: 0 }
  } finally {
    if (child.exitCode === null) child.stdin.end()
    await ended
    await upstream[Symbol.asyncDispose]()
    await remove()
  }
}

async function hangingServer(): Promise<Server> {
  const heard: number[] = []
  let begun = 0
  const upstream = await testUpstream({
    tools: {
      hang: (_args, { signal }) =>
        new Promise(resolve => {
          begun++
          signal.addEventListener('abort', () => {
            heard.push(performance.now())
            setTimeout(() => resolve('late'), LATE_MS)
          })
        }),
    },
  })
  return { upstream, heard, begun: () => begun }
}

interface Ps {
  readonly upstreams: readonly {
    readonly runtime: { readonly inFlight: number }
    readonly queue: { readonly running: number; readonly waiting: number }
  }[]
}

function pendingOf({ upstreams }: Ps): number {
  return upstreams.reduce(
    (sum, { runtime, queue }) => sum + runtime.inFlight + queue.running + queue.waiting,
    0,
  )
}
