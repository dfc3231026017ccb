import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../../core/ports.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { refusal, tooLarge, type Refusal } from '../guard-http.ts'
import { clientKey, Hold, SMALL } from '../held-bytes.ts'
import type { HttpEdge } from './edge.ts'

/** How much of a refused body is swallowed, in bodies' limits, so that its sender still reads why. */
const PATIENCE = 8

/** What a body belongs to. */
export interface BodyOwner {
  readonly edge: HttpEdge
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: { readonly caller: Principal }
}

/** Why a body was not read: it is larger than may be, there is no room for it now, or the client went away. */
export type Unread = 'too large' | 'no room' | 'gone'

const NO_ROOM: Refusal = {
  ...refusal(503, 'Too much is being read at the moment; try again', RPC.internal),
  headers: { 'retry-after': '1' },
}

export function refusalOf(unread: Exclude<Unread, 'gone'>, max: number): Refusal {
  return unread === 'too large' ? tooLarge(max) : NO_ROOM
}

/** Reads a body of at most `limits.body` bytes. One of some size counts as held until it is answered. */
export function readBody(owner: BodyOwner): Promise<Buffer | Unread> {
  const { edge, request } = owner
  const { maxBody } = edge.settings
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let length = 0
    let hold: Hold | undefined
    const giveUp = (why: Unread): void => {
      request.off('data', read)
      chunks.length = 0
      hold?.end()
      swallow(request, maxBody)
      resolve(why)
    }
    const read = (chunk: Buffer): void => {
      length += chunk.length
      if (length > maxBody) return giveUp('too large')
      const isFirst = hold === undefined && length > SMALL
      if (isFirst) hold = beginHold(owner)
      if (hold?.claim(isFirst ? length : chunk.length) === false) return giveUp('no room')
      chunks.push(chunk)
    }
    request.on('data', read)
    request.on('end', () => {
      if (hold !== undefined) hold.isFirm = true
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
    })
    // Whatever goes wrong, this follows; without a listener for errors there are none.
    request.on('close', () => resolve('gone'))
  })
}

function beginHold({ edge, request, response, headers }: BodyOwner): Hold {
  const { socket } = request
  const hold = new Hold(edge.bodies, clientKey(headers.caller, socket.remoteAddress), () => socket.destroy())
  response.on('close', () => hold.end())
  return hold
}

/** Reads a body that nobody wants, for a while: to cut it at once would take our answer with it. */
export function swallow(request: IncomingMessage, max: number): void {
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > max * PATIENCE) request.destroy()
  })
}
