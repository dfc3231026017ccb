import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HeldBytes } from '../../transport/backlog.ts'
import { SMALL } from '../../transport/backlog.ts'
import { OVERLOADED } from '../client/admission.ts'
import type { Refusal, RequestHeaders } from './request-guard.ts'
import { tooLarge } from './request-guard.ts'
import { sendRefusal } from './response.ts'
import { createHold } from './sse-writer.ts'

/** Bytes of a refused body that are read, in bodies' limits, so that its sender still reads why. */
const PATIENCE = 8

interface Unwanted {
  readonly context: { readonly settings: { readonly maxBody: number } }
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The request that a body belongs to. */
interface BodyOwner extends Unwanted {
  readonly context: Unwanted['context'] & { readonly held: HeldBytes }
  readonly headers: Pick<RequestHeaders, 'own'>
}

/** Reasons not to read a body: it is larger than may be, there is no room for it now, or the client went away. */
type Unread = 'too large' | 'no room' | 'gone'

export function createBodyRefusal(unread: Exclude<Unread, 'gone'>, max: number): Refusal {
  return unread === 'too large' ? tooLarge(max) : OVERLOADED
}

/** Reads a body of at most `limits.body` bytes. A large one counts as held until it is answered. */
export function readBody(owner: BodyOwner): Promise<Buffer | Unread> {
  const { context, request, response, headers } = owner
  const { maxBody } = context.settings
  const hold = createHold(response, context.held)
  return new Promise(resolve => {
    let chunks: Buffer[] = []
    let length = 0
    const giveUp = (why: Unread): void => {
      request.off('data', read)
      chunks = []
      hold.end()
      swallow(owner)
      resolve(why)
    }
    const mayCome = (bytes: number): boolean => {
      if (bytes > maxBody) giveUp('too large')
      else if (bytes > SMALL && !hold.claim(bytes)) giveUp('no room')
      else return true
      return false
    }
    const read = (chunk: Buffer): void => {
      length += chunk.length
      if (mayCome(Math.max(length, hold.bytes))) chunks.push(chunk)
    }
    if (!mayCome(Number(headers.own['content-length'] ?? 0))) return
    request.on('data', read)
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    // Whatever goes wrong, this follows; without a listener for errors there are none.
    request.on('close', () => resolve('gone'))
  })
}

/** Refuses a request whose body nobody wants. */
export function refuseUnread(unwanted: Unwanted, refused: Refusal): void {
  swallow(unwanted)
  sendRefusal(unwanted.response, refused)
}

/** Reads a body that nobody wants, up to a bound: to cut it immediately would take our answer with it. */
function swallow({ context, request }: Pick<Unwanted, 'context' | 'request'>): void {
  const most = context.settings.maxBody * PATIENCE
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > most) request.destroy()
  })
}
