import type { RpcError } from '../../../api/index.ts'
import type { RpcId } from '../../../protocol/jsonrpc.ts'
import { release } from '../../../transport/gathered.ts'
import type { HttpContext } from '../context.ts'
import type { Refusal } from '../request-guard.ts'
import type { RequestHeaders } from '../request-headers.ts'
import type { Reply } from '../response.ts'

/** A body that was read, and what answers the message in it. */
export interface Read {
  readonly context: HttpContext
  readonly body: Buffer
  readonly headers: RequestHeaders
  readonly reply: Reply
}

/** Refuses a message that nobody has taken: nothing refers to its bytes once it is answered. */
export function refuse({ body, reply }: Read, why: Refusal, id: RpcId | null = null): void {
  reply.refuse(why, id)
  release(body)
}

/** The same with an error of the message itself. */
export function refuseAs({ body, reply }: Read, status: number, error: RpcError, id: RpcId): void {
  reply.error(status, error, id)
  release(body)
}
