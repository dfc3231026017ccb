import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { listenHttp } from '../../../../src/listeners/http/http-listener.ts'
import type { Clock, Listener } from '../../../../src/api/index.ts'
import { FakeGate, makeListener, realClock } from './fake-gate.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

export const VERSION = '2026-07-28'

export const SPEC = {
  type: 'http',
  host: '127.0.0.1',
  port: 0,
  path: '/mcp',
  sessionLabel: 'X-Session-ID',
  allowedHosts: [] as string[],
  allowedOrigins: [] as string[],
  exposeWithoutAuth: false,
  limits: {
    body: '4MiB',
    sessions: 100,
    idle: '30m',
    connections: 64,
    unread: '30s',
    held: '128MiB',
    requests: 1024,
  },
}

/** A listener's spec as it is once it was completed. */
export function fullSpec(spec: { readonly limits?: object }): typeof SPEC {
  return { ...SPEC, ...spec, limits: { ...SPEC.limits, ...spec.limits } }
}

export interface Served {
  readonly gate: FakeGate
  readonly listener: Listener
  readonly url: URL
}

export async function serve(
  t: TestContext,
  spec: object = {},
  clock: Clock = realClock,
  config: object = {},
): Promise<Served> {
  const gate = new FakeGate()
  const listener = makeListener(listenHttp, fullSpec(spec), gate, clock, config)
  await listener.start()
  cleanup(t, async () => {
    const stopped = listener.stop(0)
    if (clock instanceof HandClock) clock.pass(0)
    await stopped
  })
  return { gate, listener, url: new URL(listener.url as string) }
}

/** A message as it came in; what is not in it is undefined, whatever its type says. */
export interface Message {
  readonly id: unknown
  readonly method: string
  readonly params: { readonly _meta: Record<string, unknown>; readonly [key: string]: unknown }
  readonly result: Record<string, unknown>
  readonly error: { readonly code: number; readonly message: string; readonly data: Record<string, unknown> }
}

export interface Got {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly json: Message
  readonly events: Message[]
}

interface Sent {
  method?: string
  path?: string
  headers?: Record<string, string | string[]> | string[]
  body?: string | Buffer
}

/** One request on a connection of its own, read to its end. */
export async function send(url: URL, { method = 'POST', path = url.pathname, headers = {}, body }: Sent): Promise<Got> {
  const request = httpRequest({
    host: url.hostname,
    port: url.port,
    method,
    path,
    headers: headers as never,
    agent: false,
  })
  const response = await answered(request, body)
  const text = await read(response)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: parse(text),
    events: eventsOf(text),
  }
}

function answered(
  request: ReturnType<typeof httpRequest>,
  body: string | Buffer | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('response', resolve)
    request.on('error', reject)
    request.end(body)
  })
}

async function read(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  for await (const chunk of response) text += chunk as string
  return text
}

export function parse(text: string | undefined): Message {
  try {
    return JSON.parse(text ?? '') as Message
  } catch {
    return undefined as unknown as Message
  }
}

function eventsOf(text: string): Message[] {
  return [...text.matchAll(/^data: (.*)$/gm)].map(match => JSON.parse(match[1] ?? 'null') as Message)
}

/** The headers of a JSON post. */
export const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

export function envelope(extra: object = {}, version: string = VERSION): Record<string, unknown> {
  return {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    ...extra,
  }
}

/** A modern request with the headers that belong to it. */
export function modern(
  method: string,
  params: Record<string, unknown> = {},
  id: string | number = 1,
): { headers: Record<string, string>; body: string } {
  const headers: Record<string, string> = {
    ...JSON_HEADERS,
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
  }
  if (typeof params.name === 'string') headers['mcp-name'] = params.name
  return {
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope() } }),
  }
}

export function legacy(session: string, message: object): { headers: Record<string, string>; body: string } {
  return {
    headers: { ...JSON_HEADERS, 'mcp-session-id': session },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  }
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
}

/** Opens a legacy session. */
export async function initialize(url: URL): Promise<string> {
  const got = await send(url, { headers: JSON_HEADERS, body: JSON.stringify(INITIALIZE) })
  return got.headers['mcp-session-id'] as string
}

export interface EventReader {
  readonly response: IncomingMessage
  /** The next message; undefined at the end. */
  next(): Promise<Message | undefined>
  comment(): Promise<string | undefined>
  readonly ended: Promise<void>
  destroy(): void
}

/** A request whose events are read as they come. */
export async function openStream(url: URL, { method = 'POST', headers = {}, body }: Sent): Promise<EventReader> {
  const request = httpRequest({
    host: url.hostname,
    port: url.port,
    method,
    path: url.pathname,
    headers: headers as never,
    agent: false,
  })
  const response = await answered(request, body)
  request.on('error', () => undefined)
  response.on('error', () => undefined)
  const ended = new Promise<void>(resolve => response.on('close', resolve))
  const lines = new Lines(response)
  return {
    response,
    ended,
    destroy: () => request.destroy(),
    async next() {
      for (;;) {
        const line = await lines.next()
        if (line === undefined) return undefined
        if (line.startsWith('data: ')) return parse(line.slice(6))
      }
    },
    async comment() {
      for (;;) {
        const line = await lines.next()
        if (line === undefined || line.startsWith(':')) return line
      }
    },
  }
}

/** Lines of a stream as they come; undefined once it has ended, well or badly. */
export class Lines {
  readonly #lines: string[] = []
  #rest = ''
  #isOver = false
  #wake: () => void = () => undefined

  constructor(stream: NodeJS.ReadableStream) {
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop() ?? ''
      this.#lines.push(...lines)
      this.#wake()
    })
    for (const event of ['end', 'close', 'error']) {
      stream.on(event, () => {
        this.#isOver = true
        this.#wake()
      })
    }
  }

  async next(): Promise<string | undefined> {
    while (this.#lines.length === 0 && !this.#isOver) await new Promise<void>(resolve => (this.#wake = resolve))
    return this.#lines.shift()
  }
}
