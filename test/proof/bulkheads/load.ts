import { Agent, request } from 'node:http'

/** Outcome of one call. */
export interface Outcome {
  readonly target: string
  readonly ms: number
  /** `result`, or the code of the error; `none` when the client had to give up, which must never be. */
  readonly kind: string
}

/** Longer than any deadline of the gateway. */
const GIVE_UP_MS = 10_000
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'load', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

let lastId = 0

const agent = new Agent({ keepAlive: true, maxSockets: 512 })

/** Sends so many calls a second to each target, evenly, for a while; resolves when every one of them has ended. */
export async function load(
  url: string,
  targets: readonly string[],
  perSecond: number,
  ms: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<Outcome[]> {
  const calls: Promise<Outcome>[] = []
  const startedAt = performance.now()
  let sent = 0
  await new Promise<void>(resolve => {
    const timer = setInterval(() => {
      const elapsed = Math.min(performance.now() - startedAt, ms)
      for (const due = (elapsed / 1000) * perSecond * targets.length; sent < due; sent++)
        calls.push(call(url, targets[sent % targets.length] ?? '', headers))
      if (elapsed < ms) return
      clearInterval(timer)
      resolve()
    }, 2)
  })
  return Promise.all(calls)
}

/** One modern request: a method of the protocol, the URI of a resource, or the name of a tool. */
function call(url: string, target: string, more: Readonly<Record<string, string>>): Promise<Outcome> {
  const { method, name, params } = requestFor(target)
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    'x-request-id': String(++lastId),
    ...(name === undefined ? {} : { 'mcp-name': name }),
    ...more,
  }
  const startedAt = performance.now()
  return new Promise(resolve => {
    const end = (kind: string): void => resolve({ target, ms: performance.now() - startedAt, kind })
    const sent = request(url, { method: 'POST', agent, headers, timeout: GIVE_UP_MS }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => end(kindOf(Buffer.concat(chunks).toString())))
    })
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => end('none'))
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } }))
  })
}

function requestFor(target: string): { method: string; name?: string; params: object } {
  if (target.includes('://')) return { method: 'resources/read', name: target, params: { uri: target } }
  return target.includes('/')
    ? { method: target, params: {} }
    : { method: 'tools/call', name: target, params: { name: target, arguments: {} } }
}

function kindOf(text: string): string {
  const json = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}')
  const { result, error } = JSON.parse(json) as { result?: object; error?: { data?: { code?: string } } }
  return result === undefined ? (error?.data?.code ?? 'an error without a code') : 'result'
}
