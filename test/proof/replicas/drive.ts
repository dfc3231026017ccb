import { Agent, request } from 'undici'
import { usageOf } from '../../bench/load/usage.ts'

const AT_ONCE = 16

export interface Driven {
  readonly calls: number
  /** Microseconds of each process per call, in the order given. */
  readonly cpu: readonly number[]
}

export const CALL = { method: 'tools/call', params: { name: 'web__small', arguments: {} } }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'drive', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** One request that is sent again and again. */
export interface Sent {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function modernCall(url: string): Sent {
  const headers = {
    ...COMMON,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': CALL.method,
    'mcp-name': CALL.params.name,
  }
  const params = { ...CALL.params, _meta: META }
  return { url, headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: CALL.method, params }) }
}

/** A call in a session, at any replica; `id` must not be that of another under way. */
export function legacyCall(url: string, session: string, id: number): Sent {
  return {
    url,
    headers: { ...COMMON, 'mcp-session-id': session },
    body: JSON.stringify({ jsonrpc: '2.0', id, ...CALL }),
  }
}

const COMMON = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export async function open(url: string): Promise<string> {
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'drive', version: '1' },
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const {
    headers,
    body: answer,
    statusCode,
  } = await request(url, { method: 'POST', headers: COMMON, body, dispatcher: AGENT })
  const text = await answer.text()
  if (statusCode !== 200) throw new Error(`${statusCode} ${text}`)
  return String(headers['mcp-session-id'])
}

const AGENT = new Agent({ connections: 64, pipelining: 1 })

/** Sends them in turn, so many at a time, for so long; says what each process used for a call. */
export async function drive(
  sent: readonly ((lane: number) => Sent)[],
  pids: readonly number[],
  ms: number,
): Promise<Driven> {
  const used = (): number[] => pids.map(pid => usageOf(pid)?.micros ?? 0)
  const before = used()
  const until = performance.now() + ms
  let calls = 0
  const lane = async (number: number): Promise<void> => {
    for (let turn = number; performance.now() < until; turn++) {
      const one = sent[turn % sent.length]?.(number)
      if (one === undefined) return
      const { statusCode, body } = await request(one.url, {
        method: 'POST',
        headers: one.headers,
        body: one.body,
        dispatcher: AGENT,
      })
      const text = await body.text()
      if (statusCode !== 200 || text.includes('"error"'))
        throw new Error(`${statusCode} ${text.slice(0, 300)}`)
      calls++
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => lane(number)))
  const after = used()
  return { calls, cpu: after.map((micros, index) => (micros - (before[index] ?? 0)) / calls) }
}
