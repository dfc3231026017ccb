import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MemoryBudget } from '../../net/backlog.ts'
import { UNCOUNTED_BYTES, createHold } from '../../net/backlog.ts'
import { OVERLOADED } from '../client/inbound-request.ts'
import type { Refusal, RequestHeaders } from './request-guard.ts'
import { createTooLargeRefusal } from './request-guard.ts'
import { sendRefusal } from './response.ts'

/** Bytes discarded of a refused body, in multiples of `limits.body`, so that its sender can read the refusal. */
const MAX_DISCARDED_BODIES = 8

interface UnreadRequest {
  readonly context: { readonly settings: { readonly maxBody: number } }
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface BodyRequest extends UnreadRequest {
  readonly context: UnreadRequest['context'] & { readonly memory: MemoryBudget }
  readonly headers: Pick<RequestHeaders, 'own'>
}

/** `no room`: the listener holds too many bytes. */
type BodyFailure = 'too large' | 'no room' | 'gone'

export function createBodyRefusal(unread: Exclude<BodyFailure, 'gone'>, max: number): Refusal {
  return unread === 'too large' ? createTooLargeRefusal(max) : OVERLOADED
}

/** Reads a body up to `limits.body`. Large bodies count as held until answered. */
export function readBody(owner: BodyRequest): Promise<Buffer | BodyFailure> {
  const { context, request, response, headers } = owner
  const { maxBody } = context.settings
  const hold = createHold(response, context.memory)
  return new Promise(resolve => {
    let chunks: Buffer[] = []
    let length = 0
    const stopReading = (failure: BodyFailure): void => {
      request.off('data', onData)
      chunks = []
      hold.release()
      discardBody(owner)
      resolve(failure)
    }
    const claimBytes = (bytes: number): boolean => {
      if (bytes > maxBody) stopReading('too large')
      else if (bytes > UNCOUNTED_BYTES && !hold.claim(bytes)) stopReading('no room')
      else return true
      return false
    }
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (claimBytes(Math.max(length, hold.bytes))) chunks.push(chunk)
    }
    if (!claimBytes(Number(headers.own['content-length'] ?? 0))) return
    request.on('data', onData)
    request.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    // Follows any error.
    request.on('close', () => resolve('gone'))
  })
}

/** Refuses a request and discards its body. */
export function refuseUnread(unwanted: UnreadRequest, refused: Refusal): void {
  discardBody(unwanted)
  sendRefusal(unwanted.response, refused)
}

/** Discards a body up to a limit: an immediate close could lose the refusal. */
function discardBody({ context, request }: Pick<UnreadRequest, 'context' | 'request'>): void {
  const maxBytes = context.settings.maxBody * MAX_DISCARDED_BODIES
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > maxBytes) request.destroy()
  })
}
