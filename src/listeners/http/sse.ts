import type { ServerResponse } from 'node:http'
import type { Principal } from '../../api/index.ts'
import { principalKey } from '../../plugin.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import { joinPieces } from '../../util/messages.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import type { MessageContext, ChannelEvents } from '../../net/channel.ts'
import type { Arrival, HttpContext } from './http-context.ts'
import type { NetworkChannel, PostedConversation } from './open-connections.ts'
import { checkCapacity } from './open-connections.ts'
import { readBody, createBodyRefusal, refuseUnread, checkBody } from './http-request.ts'
import { parseAccept, createRefusal, sendNothing, sendRefusal } from './response.ts'
import type { SseStream } from './sse-writer.ts'

const SESSION_GONE = createRefusal(404, 'Session not found or expired; open an event stream', RPC.legacyNoSession)

/** GET: opens an HTTP+SSE session (2024-11-05), which lasts as long as the stream. */
export function openEventStream({ context, request, response, headers }: Arrival): void {
  request.resume()
  const { sse } = context.settings
  const refused = parseAccept(headers.own.accept).events
    ? checkCapacity(context, headers.caller)
    : createRefusal(406, 'Not acceptable: GET requires text/event-stream')
  if (sse === undefined || refused !== undefined) return sendRefusal(response, refused ?? SESSION_GONE)
  const channel = new SseChannel(context, response, headers.caller)
  context.eventStreams.set(channel.id, channel)
  const forget = context.openStreams.add(headers, () => response.destroy())
  response.on('close', () => {
    forget()
    context.eventStreams.delete(channel.id)
  })
  context.connections.begin(context, channel, {
    via: 'sse',
    isLegacyOnly: true,
    principal: headers.caller,
    label: headers.label,
    profile: headers.profile,
    choices: headers.choices,
    socket: request.socket,
  })
  channel.sendEndpoint(sse.messages)
}

/** POST: one message or batch; its answer is sent on the stream. */
export async function handleMessagePost(arrival: Arrival): Promise<void> {
  const { context, request, response, headers } = arrival
  const { maxBody } = context.settings
  const channel = findChannel(context, request.url ?? '', headers.caller)
  const refused = channel === undefined ? SESSION_GONE : checkBody(headers, maxBody)
  if (channel === undefined || refused !== undefined) return refuseUnread(arrival, refused ?? SESSION_GONE)
  const body = await readBody(arrival)
  if (body === 'gone') return
  if (typeof body === 'string') return sendRefusal(response, createBodyRefusal(body, maxBody))
  if (!(await channel.receivePost(body, { headers: headers.passed, caller: headers.caller })))
    return sendRefusal(response, SESSION_GONE)
  if (!response.destroyed) sendNothing(response, 202)
}

/** Finds this caller's session; other callers' sessions are invisible. */
function findChannel({ eventStreams }: HttpContext, url: string, caller: Principal): PostedConversation | undefined {
  const channel = eventStreams.get(parseSessionUrl(url))
  return channel !== undefined && principalKey(channel.principal) === principalKey(caller) ? channel : undefined
}

function parseSessionUrl(url: string): string {
  const query = url.indexOf('?')
  return (query < 0 ? null : new URLSearchParams(url.slice(query + 1)).get('sessionId')) ?? ''
}

/** Unread bytes above which reading from the client pauses. */
const MAX_UNSENT = 1024 * 1024

/** An HTTP+SSE client (2024-11-05): posts messages and reads one event stream. */
class SseChannel implements NetworkChannel, PostedConversation {
  /** Session id; secret, as it lets the client post. */
  readonly id: string
  readonly principal: Principal
  isBlocked = false
  readonly #response: ServerResponse
  readonly #stream: SseStream
  #events: ChannelEvents | undefined
  #reading: Promise<void> | undefined
  #onResume: () => void = () => undefined

  constructor({ sessions, streams }: HttpContext, response: ServerResponse, principal: Principal) {
    this.id = sessions.newId()
    this.principal = principal
    this.#response = response
    this.#stream = streams.open(response)
    response.on('drain', () => this.#setBlocked(false))
  }

  open(events: ChannelEvents): void {
    this.#events = events
    this.#response.on('close', () => {
      this.resume()
      events.closed('the client closed its event stream')
    })
  }

  /** Starts the stream with the URL for posts. */
  sendEndpoint(messages: string): void {
    this.#response.write(`event: endpoint\ndata: ${messages}?sessionId=${this.id}\n\n`)
  }

  async receivePost(body: Buffer, arrived: MessageContext): Promise<boolean> {
    while (this.#reading !== undefined && this.#stream.isOpen) await this.#reading
    if (!this.#stream.isOpen) return false
    this.#events?.message(body, arrived)
    return true
  }

  pause(): void {
    this.#reading ??= new Promise(resolve => (this.#onResume = resolve))
  }

  resume(): void {
    this.#reading = undefined
    this.#onResume()
  }

  writeOptional(message: string): boolean {
    return this.#stream.notify(message)
  }

  write(message: EncodedMessage): void {
    this.#stream.send(joinPieces(message))
    if (this.#response.writableLength > MAX_UNSENT) this.#setBlocked(true)
  }

  async waitForDrain(): Promise<void> {
    if (!this.#stream.isOpen || this.#response.writableLength === 0) return
    await new Promise(resolve => this.#response.once('drain', resolve).once('close', resolve))
  }

  close(): Promise<void> {
    if (this.#response.destroyed) return Promise.resolve()
    return new Promise(resolve => {
      this.#response.once('close', resolve)
      this.#response.end()
      this.#response.socket?.destroySoon()
    })
  }

  #setBlocked(isBlocked: boolean): void {
    if (this.isBlocked === isBlocked) return
    this.isBlocked = isBlocked
    this.#events?.flow()
  }
}
