import { Agent, request } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { testUpstream } from '../../../../src/testing/index.ts'
import { META } from '../../../../src/protocol/methods.ts'
import { FAULTS, FaultyProxy, type Fault } from './faulty-proxy.ts'

/** Outcome of all calls while one fault was there. */
export interface Found {
  readonly fault: Fault
  readonly calls: number
  readonly results: number
  /** Calls with no answer, with several, or with the answer of another. */
  readonly wrong: number
  /** Calls that the server carried out more than once. */
  readonly repeated: number
  readonly longestMs: number
  /** The longest time that this process, which holds the clock, stood still. */
  readonly lagMs: number
  readonly codes: Readonly<Record<string, number>>
}

/** All that a proxy with faults in front of a server needs of a gateway. */
export interface Chaos {
  readonly upstreams: object
  run(url: string, fault: Fault, calls: number): Promise<Found>
  close(): Promise<void>
}

export const TIMEOUT_MS = 500
/** All that a timer and a busy machine may add to a deadline. */
export const SLACK_MS = 250
const MOST_AT_A_TIME = 100
/** The refusal of a gateway that has too much to do. */
const OVERLOADED = 'GW_OVERLOADED'
/** Far longer than any deadline of the gateway: the call hangs. */
const GIVE_UP_MS = 20_000
const TOOLS = ['modern__echo', 'legacy__echo']
const MODERN = {
  [META.protocolVersion]: '2026-07-28',
  [META.clientInfo]: { name: 'chaos', version: '1' },
  [META.clientCapabilities]: {},
}

/** A server that counts what it carries out, behind a proxy with faults; reached in both eras. */
export async function chaos(atATime = MOST_AT_A_TIME): Promise<Chaos> {
  const executed = new Map<number, number>()
  const run = (args: { n?: unknown }): string => {
    executed.set(Number(args.n), (executed.get(Number(args.n)) ?? 0) + 1)
    return `n=${Number(args.n)}.`
  }
  const server = await testUpstream({ tools: { echo: run } })
  const proxy = new FaultyProxy(server.url)
  await proxy.listen()
  const agent = new Agent({ keepAlive: true, maxSockets: atATime })
  // Nothing is spared its fault: neither a rest nor a retry is what is looked at.
  const spec = { type: 'http', url: proxy.url, timeout: TIMEOUT_MS, breaker: false, cache: false }
  return {
    upstreams: { modern: { ...spec, era: 'modern' }, legacy: { ...spec, era: 'legacy' } },
    async run(url, fault, calls) {
      executed.clear()
      const lag = monitorEventLoopDelay({ resolution: 5 })
      lag.enable()
      if (fault === 'refused') await proxy.refuse()
      else proxy.fault = fault
      const outcomes = await callAll(agent, url, calls, atATime)
      const lagMs = lag.max / 1e6
      lag.disable()
      if (fault === 'refused') await proxy.listen()
      proxy.fault = undefined
      await recovered(agent, url)
      // Calls that ask whether it has recovered have numbers below 0, and are made again until it has.
      const repeated = [...executed].filter(([n, times]) => n > 0 && times > 1).length
      return { ...summed(fault, outcomes), repeated, lagMs }
    },
    async close() {
      agent.destroy()
      await proxy.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** Runs every fault once; `report` hears of each. */
export async function runAll(
  { run }: Chaos,
  url: string,
  calls: number,
  report: (found: Found) => void,
): Promise<void> {
  for (const fault of FAULTS) report(await run(url, fault, calls))
}

/** One answer for each call, none repeated, none that hangs. */
export function holds({ wrong, repeated, longestMs }: Found, slackMs: number): boolean {
  return wrong === 0 && repeated === 0 && longestMs <= TIMEOUT_MS + slackMs
}

interface Outcome {
  readonly ms: number
  readonly kind: string
}

function summed(fault: Fault, outcomes: readonly Outcome[]): Omit<Found, 'repeated' | 'lagMs'> {
  const codes: Record<string, number> = {}
  for (const { kind } of outcomes) codes[kind] = (codes[kind] ?? 0) + 1
  const results = codes.result ?? 0
  const wrong = outcomes.filter(({ kind }) => kind.startsWith('WRONG')).length
  const longestMs = Math.max(...outcomes.map(({ ms }) => ms))
  return { fault, calls: outcomes.length, results, wrong, longestMs, codes }
}

/** No number is used twice, so that what arrives late from an earlier fault is not taken for a repetition. */
let lastCall = 0

async function callAll(agent: Agent, url: string, calls: number, atATime: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let begun = 0
  const worker = async (): Promise<void> => {
    while (begun++ < calls) outcomes.push(await call(agent, url, ++lastCall))
  }
  await Promise.all(Array.from({ length: atATime }, worker))
  return outcomes
}

/** Both upstreams answer again. */
async function recovered(agent: Agent, url: string): Promise<void> {
  const giveUpAt = performance.now() + 30_000
  for (const n of [-2, -1])
    while ((await call(agent, url, n)).kind !== 'result') {
      if (performance.now() > giveUpAt) throw new Error('the gateway did not find the server again')
      await new Promise(resolve => setTimeout(resolve, 50))
    }
}

function call(agent: Agent, url: string, n: number): Promise<Outcome> {
  const name = TOOLS[Math.abs(n) % 2] ?? ''
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  }
  const params = { name, arguments: { n }, _meta: MODERN }
  const startedAt = performance.now()
  return new Promise(resolve => {
    const end = (kind: string): void => resolve({ ms: performance.now() - startedAt, kind })
    const sent = request(url, { method: 'POST', agent, headers, timeout: GIVE_UP_MS }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => end(kindOf(Buffer.concat(chunks).toString(), n)))
      response.on('error', () => end('WRONG: broken off'))
    })
    sent.on('timeout', () => sent.destroy())
    sent.on('error', error => end(`WRONG: ${error.message}`))
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params }))
  })
}

interface Answer {
  readonly id?: unknown
  readonly result?: { readonly content?: unknown }
  readonly error?: { readonly data?: { readonly code?: string } }
}

/** `result`, the code of the error, or what is wrong with the answer. */
function kindOf(text: string, n: number): string {
  const documents = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (\{.*)$/gm)].map(([, one]) => one)
  const [answer, ...more] = documents.map(one => JSON.parse(one ?? '{}') as Answer)
  return answer === undefined || more.length > 0 ? `WRONG: ${documents.length} answers` : kindOfOne(answer, n)
}

function kindOfOne(answer: Answer, n: number): string {
  const code = answer.error?.data?.code
  // What is refused before it is read has no id.
  if (answer.id === null && code === OVERLOADED) return OVERLOADED
  if (answer.id !== n) return 'WRONG: the id of another'
  if (answer.result === undefined) return code ?? 'WRONG: an error without a code'
  return JSON.stringify(answer.result.content).includes(`n=${n}.`) ? 'result' : 'WRONG: the answer of another'
}
