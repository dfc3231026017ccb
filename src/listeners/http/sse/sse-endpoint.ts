import type { Principal } from '../../../api/index.ts'
import { principalKey } from '../../../plugin.ts'
import { RPC } from '../../../protocol/rpc-error.ts'
import type { Arrival } from '../arrival.ts'
import { readBody, refusalOf, swallow } from '../body/read-body.ts'
import type { HttpContext } from '../context.ts'
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
export function openEventStream({ context, request, response, headers }: Arrival): void {
  request.resume()
  const { sse } = context.settings
  const refused = acceptsOf(headers.own.accept).events
    ? conversationProblem(context, headers.caller)
    : refusal(406, 'Not acceptable: GET answers with text/event-stream')
  if (sse === undefined || refused !== undefined) return sendRefusal(response, refused ?? GONE)
  const channel = new SseChannel(context, response, headers.caller)
  context.eventStreams.set(channel.id, channel)
  const forget = context.standing.note(headers, () => response.destroy())
  response.on('close', () => {
    forget()
    context.eventStreams.delete(channel.id)
  })
  context.pipes.begin(context, channel, {
    isLegacyOnly: true,
    principal: headers.caller,
    label: headers.label,
    profile: headers.profile,
  })
  channel.greet(sse.messages)
}

/** POST: one message or batch of a conversation; its answer comes on the stream. */
export async function takeMessage({ context, request, response, headers }: Arrival): Promise<void> {
  const { maxBody } = context.settings
  const channel = channelOf(context, request.url ?? '', headers.caller)
  const refused = channel === undefined ? GONE : guardBody(headers, maxBody)
  if (channel === undefined || refused !== undefined) {
    swallow(request, maxBody)
    return sendRefusal(response, refused ?? GONE)
  }
  const body = await readBody({ context, request, response, headers })
  if (body === 'gone') return
  if (typeof body === 'string') return sendRefusal(response, refusalOf(body, maxBody))
  if (!(await channel.take(body, { headers: headers.passed, caller: headers.caller })))
    return sendRefusal(response, GONE)
  if (!response.destroyed) sendNothing(response, 202)
}

/** A conversation of this caller. Someone else's does not exist for him. */
function channelOf({ eventStreams }: HttpContext, url: string, caller: Principal): SseChannel | undefined {
  const channel = eventStreams.get(sessionOf(url))
  return channel !== undefined && principalKey(channel.principal) === principalKey(caller)
    ? channel
    : undefined
}

function sessionOf(url: string): string {
  const query = url.indexOf('?')
  return (query < 0 ? null : new URLSearchParams(url.slice(query + 1)).get('sessionId')) ?? ''
}
