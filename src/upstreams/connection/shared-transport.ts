import type { UpstreamContext } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { encodeRequest } from '../../protocol/jsonrpc.ts'
import type { EncodedMessage } from '../../util/encoded-message.ts'
import { getByteLength } from '../../util/encoded-message.ts'
import type { PendingRequest, Transport } from '../transport.ts'

/** Limit for unread bytes: requests; and replies and notifications, whose loss is not reported. */
const MAX_UNREAD = 8 * 1024 * 1024
const MAX_UNREAD_REPLIES = 16 * 1024 * 1024
const RETRY_MS = 1000

/** Sends messages over one stream that all clients share and that always listens. */
export abstract class SharedTransport implements Transport {
  readonly streams = false
  abstract readonly pid: number | undefined
  readonly #context: UpstreamContext
  #hasDropped = false

  constructor(context: UpstreamContext) {
    this.#context = context
  }

  /** Bytes that the server has not read. */
  protected abstract readonly unread: number
  protected abstract write(text: EncodedMessage, bytes: number): void

  request(pending: PendingRequest, params: JsonObject | undefined): void {
    const text = encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received)
    const bytes = getByteLength(text)
    if (this.unread > 0 && this.unread + bytes > MAX_UNREAD)
      throw gatewayError('GW_UPSTREAM_BUSY', {
        upstream: this.#context.name,
        why: 'server reads too slowly: over 8 MiB queued',
        retryAfterMs: RETRY_MS,
      })
    this.write(text, bytes)
  }

  send(text: string): Promise<void> {
    const bytes = Buffer.byteLength(text)
    const isFull = this.unread > 0 && this.unread + bytes > MAX_UNREAD_REPLIES
    if (!isFull) this.write(text, bytes)
    if (isFull && !this.#hasDropped) {
      const why = 'server reads too slowly: over 16 MiB queued'
      this.#context.log.warn('dropping messages to the server until it reads again', { bytes, why })
    }
    this.#hasDropped = isFull
    return Promise.resolve()
  }

  abandon(): boolean {
    // Written bytes cannot be withdrawn.
    return false
  }

  opened(): void {}

  listen(): void {}

  retire(): Promise<void> {
    return this.close()
  }

  abstract close(): Promise<void>
}
