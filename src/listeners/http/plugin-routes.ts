import type { HttpReply, HttpRequest } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { Arrival } from './arrival.ts'
import { credentialsOf } from './authenticate.ts'
import { readBody } from './body/read-body.ts'
import { sendPieces } from './body/send-chunks.ts'
import { sendJson } from './response.ts'

/** Answers on a path that a plugin serves; undefined where none does. */
export function servePath(arrival: Arrival, path: string): Promise<void> | undefined {
  const answer = arrival.context.gate.serve(requestOf(arrival, path))
  return answer?.then(reply => send(arrival, reply))
}

function requestOf(arrival: Arrival, path: string): HttpRequest {
  const { context, request, response, headers } = arrival
  return {
    ...credentialsOf(context, request),
    path,
    query: new URLSearchParams((request.url ?? '/').split('?').slice(1).join('?')),
    caller: headers.caller,
    gate: context.gate,
    label: headers.label,
    profile: headers.profile,
    passed: headers.passed,
    async body() {
      const body = await readBody(arrival)
      if (body === 'too large')
        throw gatewayError('GW_TOO_LARGE', { what: 'the body', limit: context.settings.maxBody })
      if (body === 'no room') throw gatewayError('GW_OVERLOADED')
      if (body === 'gone') throw gatewayError('GW_CANCELLED')
      return body
    },
    onGone: listener =>
      void response.on('close', () => {
        if (!response.writableFinished) listener()
      }),
  }
}

async function send(
  { context, request, response, headers: { caller } }: Arrival,
  reply: HttpReply | undefined,
): Promise<void> {
  request.resume()
  if (response.destroyed) return
  if (reply === undefined) {
    const text = { error: 'method_not_allowed', message: `${request.method ?? ''} is not answered here` }
    return sendJson(response, 405, JSON.stringify(text))
  }
  const { status, headers, body = '' } = reply
  const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
  if (isWhole && !context.unread.admits(response, caller, body.length)) return
  response.writeHead(status, { 'cache-control': 'no-store', ...headers })
  if (isWhole) response.end(body)
  else await sendPieces(response, body, { clock: context.clock, patienceMs: context.settings.unreadMs })
}
