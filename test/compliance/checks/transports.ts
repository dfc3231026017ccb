import assert from 'node:assert/strict'
import type { Bench, Check } from './check.ts'
import type { Json } from '../matrix/peer.ts'

const POST = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const PATIENCE = 10_000

/** All that only the wire shows: streams that break and are resumed, and batches. */
export const TRANSPORTS: Record<string, Check> = {
  'transport.resume': async bench => {
    const client = await Old.connect(bench, '2025-11-25')
    const { name, arguments: args = {} } = bench.offer.progress
    const params = { name, arguments: args, _meta: { progressToken: 'resumed' } }
    const stopper = new AbortController()
    const begun = await client.post({ jsonrpc: '2.0', id: 'r', method: 'tools/call', params }, stopper.signal)
    const id = await firstId(begun)
    stopper.abort()
    const rest = await client.resume(id)
    const answer = rest.find(message => message['id'] === 'r')
    assert.ok(answer?.['result'], `the answer is not among ${JSON.stringify(rest)}`)
    const again = await client.resume(id)
    assert.deepEqual(again, rest, 'what was said is said again from the same place on')
    await client.end()
  },
  'transport.batch': async bench => {
    const client = await Old.connect(bench, '2025-03-26')
    const { name, says } = bench.offer.echo
    const calls = ['one', 'two', 'three'].map(message => ({
      jsonrpc: '2.0',
      id: message,
      method: 'tools/call',
      params: { name, arguments: { message } },
    }))
    const response = await client.post([...calls, { jsonrpc: '2.0', method: 'notifications/x' }])
    const answers = (await messagesOf(response)).flat() as Json[]
    assert.deepEqual(answers.map(({ id }) => id).sort(), ['one', 'three', 'two'])
    for (const { id, result } of answers) assert.ok(JSON.stringify(result).includes(says(String(id))))
    await client.end()
  },
}

/** A legacy client of Streamable HTTP by hand. */
class Old {
  readonly #url: string
  readonly #headers: Record<string, string>

  private constructor(url: string, headers: Record<string, string>) {
    this.#url = url
    this.#headers = headers
  }

  static async connect({ site }: Bench, protocolVersion: string): Promise<Old> {
    const { place } = site
    assert.ok(place.transport === 'http')
    const hello = { protocolVersion, capabilities: {}, clientInfo: { name: 'matrix-wire', version: '1' } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello })
    const response = await fetch(place.url, { method: 'POST', headers: POST, body })
    await response.text()
    const session = response.headers.get('mcp-session-id') ?? ''
    const client = new Old(place.url, { 'mcp-session-id': session, 'mcp-protocol-version': protocolVersion })
    await (await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' })).text()
    return client
  }

  post(message: unknown, signal = AbortSignal.timeout(PATIENCE)): Promise<Response> {
    const headers = { ...POST, ...this.#headers }
    return fetch(this.#url, { method: 'POST', headers, body: JSON.stringify(message), signal })
  }

  async resume(id: string): Promise<Json[]> {
    const headers = { accept: 'text/event-stream', ...this.#headers, 'last-event-id': id }
    const response = await fetch(this.#url, { headers, signal: AbortSignal.timeout(PATIENCE) })
    assert.equal(response.status, 200)
    return (await messagesOf(response)) as Json[]
  }

  async end(): Promise<void> {
    await fetch(this.#url, { method: 'DELETE', headers: this.#headers })
  }
}

/** The id that a stream begins with. */
async function firstId(response: Response): Promise<string> {
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const [, id] = /^id: ?(.+)$/m.exec(text) ?? []
    if (id !== undefined) return id
  }
  throw new Error('the stream has no ids')
}

async function messagesOf(response: Response): Promise<unknown[]> {
  const text = await response.text()
  if (response.headers.get('content-type')?.startsWith('application/json')) return [JSON.parse(text) as unknown]
  return [...text.matchAll(/^data: ?(.+)$/gm)].map(([, data = '']) => JSON.parse(data) as unknown)
}
