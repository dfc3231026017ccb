import type { ServerResponse } from 'node:http'
import type { Clock, HttpReply, HttpRequest } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { SMALL } from '../../transport/backlog.ts'
import { credentialsOf } from './authenticate.ts'
import type { Arrival } from './context.ts'
import { readBody } from './read-body.ts'
import { sendJson } from './response.ts'
import { holdFor } from './sse-writer.ts'

/** Answers on a path that a plugin serves; undefined where none does. */
export function servePath(arrival: Arrival): Promise<void> | undefined {
  const request = requestOf(arrival)
  const answer = arrival.context.gate.serve(request)
  return answer?.then(async reply => {
    if (reply?.at === undefined || !(await isHandedOn(arrival, reply.at, request))) await send(arrival, reply)
  })
}

/** Hands on what another process has. Its caller is asked there who it is. */
async function isHandedOn(arrival: Arrival, place: string, request: HttpRequest): Promise<boolean> {
  const { handOn } = arrival.context
  return handOn !== undefined && handOn(arrival, place, await request.body())
}

function requestOf(arrival: Arrival): HttpRequest {
  const { context, request, response, headers, path } = arrival
  const read = async (): Promise<Buffer> => {
    const body = await readBody(arrival)
    if (body === 'too large')
      throw gatewayError('GW_TOO_LARGE', { what: 'the body', limit: context.settings.maxBody })
    if (body === 'no room') throw gatewayError('GW_OVERLOADED')
    if (body === 'gone') throw gatewayError('GW_CANCELLED')
    return body
  }
  let reading: Promise<Buffer> | undefined
  return {
    ...credentialsOf(context, request),
    path,
    query: new URLSearchParams((request.url ?? '/').split('?').slice(1).join('?')),
    caller: headers.caller,
    gate: context.gate,
    label: headers.label,
    profile: headers.profile,
    passed: headers.passed,
    body: () => (reading ??= read()),
    onGone: listener =>
      void response.on('close', () => {
        if (!response.writableFinished) listener()
      }),
  }
}

async function send({ context, request, response }: Arrival, reply: HttpReply | undefined): Promise<void> {
  request.resume()
  if (response.destroyed) return
  if (reply === undefined) {
    const text = { error: 'method_not_allowed', message: `${request.method ?? ''} is not answered here` }
    return sendJson(response, 405, JSON.stringify(text))
  }
  const { status, headers, body = '' } = reply
  const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
  if (isWhole && body.length > SMALL) holdFor(response, context.held).set(body.length)
  response.writeHead(status, { 'cache-control': 'no-store', ...headers })
  if (isWhole) response.end(body)
  else await sendPieces(response, body, { clock: context.clock, patienceMs: context.settings.unreadMs })
}

interface Patience {
  readonly clock: Clock
  /** Time that a reader may take for what waits. */
  readonly patienceMs: number
}

/** Streams a body, no faster than it is read. A reader that does not read is cut. */
async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string | Buffer>,
  patience: Patience,
): Promise<void> {
  for await (const piece of pieces) {
    if (response.destroyed) return
    if (!response.write(piece)) await drained(response, patience)
  }
  response.end()
}

function drained(response: ServerResponse, { clock, patienceMs }: Patience): Promise<void> {
  return new Promise(resolve => {
    const cut = clock.after(patienceMs, () => response.destroy())
    const on = (): void => {
      cut()
      response.off('drain', on).off('close', on)
      resolve()
    }
    response.on('drain', on).on('close', on)
  })
}
