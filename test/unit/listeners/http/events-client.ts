import { request as httpRequest, type IncomingMessage } from 'node:http'
import { INITIALIZE, JSON_HEADERS, Lines, parse, send, type Message } from './client.ts'

/** One event with everything that stood in it. */
export interface SseEvent {
  readonly id: string | undefined
  readonly retry: string | undefined
  readonly data: string
  readonly message: Message
}

export interface Events {
  readonly status: number
  readonly response: IncomingMessage
  /** The next event; undefined at the end. */
  next(): Promise<SseEvent | undefined>
  /** All events up to the end. */
  rest(): Promise<SseEvent[]>
  leave(): Promise<void>
}

interface Sent {
  readonly method?: string
  readonly headers: Record<string, string>
  readonly body?: string
}

/** A request whose events are read one by one. */
export async function openEvents(url: URL, { method = 'POST', headers, body }: Sent): Promise<Events> {
  const { hostname: host, port, pathname: path } = url
  const request = httpRequest({ host, port, method, path, headers, agent: false })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve)
    request.on('error', reject)
    request.end(body)
  })
  response.on('error', () => undefined)
  const closed = new Promise<void>(resolve => response.on('close', resolve))
  const lines = new Lines(response)
  const next = (): Promise<SseEvent | undefined> => readEvent(lines)
  return {
    status: response.statusCode ?? 0,
    response,
    next,
    async rest() {
      const events: SseEvent[] = []
      for (let event = await next(); event !== undefined; event = await next()) events.push(event)
      return events
    },
    leave() {
      request.destroy()
      return closed
    },
  }
}

async function readEvent(lines: Lines): Promise<SseEvent | undefined> {
  const fields = new Map<string, string>()
  for (;;) {
    const line = await lines.next()
    if (line === undefined) return undefined
    const colon = line.indexOf(':')
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1).trimStart())
    if (line !== '' || fields.size === 0) continue
    const data = fields.get('data') ?? ''
    return { id: fields.get('id'), retry: fields.get('retry'), data, message: parse(data) }
  }
}

/** Opens a session of this version. */
export async function initializeAs(url: URL, protocolVersion = '2025-11-25'): Promise<string> {
  const body = JSON.stringify({ ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } })
  const got = await send(url, { headers: JSON_HEADERS, body })
  return got.headers['mcp-session-id'] as string
}

/** The GET of a session, from an event on where one is given. */
export function listening(session: string, lastEventId?: string): Sent {
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session }
  return {
    method: 'GET',
    headers: lastEventId === undefined ? headers : { ...headers, 'last-event-id': lastEventId },
  }
}

/** Resolves when what the peer has sent so far has surely been seen: one round trip on another connection. */
export async function roundTrip(url: URL): Promise<void> {
  await send(url, { method: 'GET', path: '/livez' })
}
