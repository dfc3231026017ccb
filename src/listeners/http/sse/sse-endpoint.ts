import type { Principal } from '../../../api/index.ts'
import { principalKey } from '../../../plugin.ts'
import { RPC } from '../../../protocol/rpc-error.ts'
import type { Arrival } from '../arrival.ts'
import { readBody, refusalOf, swallow } from '../body/read-body.ts'
import type { HttpEdge } from '../context.ts'
import { acceptsOf, guardBody, refusal } from '../request-guard.ts'
import { sendNothing, sendRefusal } from '../response.ts'
import { conversationProblem } from './open-connections.ts'
import { SseChannel } from './sse-channel.ts'

const GONE = refusal(
  404,
  'Session not found: its event stream has ended or never was; open one',
  RPC.legacyNoSession,
)

/** GET: begins a conversation of HTTP+SSE (2024-11-05), which lasts as long as this stream. */
export function openEventStream({ edge, request, response, headers }: Arrival): void {
  request.resume()
  const { sse } = edge.settings
  const refused = acceptsOf(headers.own.accept).events
    ? conversationProblem(edge, headers.caller)
    : refusal(406, 'Not acceptable: GET answers with text/event-stream')
  if (sse === undefined || refused !== undefined) return sendRefusal(response, refused ?? GONE)
  const channel = new SseChannel(edge, response, headers.caller)
  edge.eventStreams.set(channel.id, channel)
  const forget = edge.standing.note(headers, () => response.destroy())
  response.on('close', () => {
    forget()
    edge.eventStreams.delete(channel.id)
  })
  edge.pipes.begin(edge, channel, {
    isLegacyOnly: true,
    principal: headers.caller,
    label: headers.label,
    profile: headers.profile,
  })
  channel.greet(sse.messages)
}

/** POST: one message or batch of a conversation; its answer comes on the stream. */
export async function takeMessage({ edge, request, response, headers }: Arrival): Promise<void> {
  const { maxBody } = edge.settings
  const channel = channelOf(edge, request.url ?? '', headers.caller)
  const refused = channel === undefined ? GONE : guardBody(headers, maxBody)
  if (channel === undefined || refused !== undefined) {
    swallow(request, maxBody)
    return sendRefusal(response, refused ?? GONE)
  }
  const body = await readBody({ edge, request, response, headers })
  if (body === 'gone') return
  if (typeof body === 'string') return sendRefusal(response, refusalOf(body, maxBody))
  if (!(await channel.take(body, { headers: headers.passed, caller: headers.caller })))
    return sendRefusal(response, GONE)
  if (!response.destroyed) sendNothing(response, 202)
}

/** A conversation of this caller. Someone else's does not exist for him. */
function channelOf({ eventStreams }: HttpEdge, url: string, caller: Principal): SseChannel | undefined {
  const channel = eventStreams.get(sessionOf(url))
  return channel !== undefined && principalKey(channel.principal) === principalKey(caller)
    ? channel
    : undefined
}

function sessionOf(url: string): string {
  const query = url.indexOf('?')
  return (query < 0 ? null : new URLSearchParams(url.slice(query + 1)).get('sessionId')) ?? ''
}
