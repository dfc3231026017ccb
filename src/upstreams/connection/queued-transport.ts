import type { UpstreamContext } from '../../api/index.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { encodeRequest } from '../../protocol/jsonrpc.ts'
import type { Pending, Transport } from '../transport.ts'
import { RequestQueue, type SharedStream } from './request-queue.ts'

/** Carries messages over one stream that all clients share, and that always listens: requests wait in a queue for room on it. */
export abstract class QueuedTransport implements Transport {
  readonly streams = false
  abstract readonly pid: number | undefined
  protected readonly queue: RequestQueue

  constructor(context: UpstreamContext, stream: SharedStream) {
    this.queue = new RequestQueue(context, stream)
  }

  request(pending: Pending, params: JsonObject | undefined): void {
    this.queue.send(
      pending,
      encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received),
    )
  }

  send(text: string): Promise<void> {
    this.queue.reply(text)
    return Promise.resolve()
  }

  abandon(pending: Pending): boolean {
    return this.queue.withdraw(pending)
  }

  opened(): void {
    // Nothing on such a stream depends on the era.
  }

  listen(): void {
    // Such a stream always listens.
  }

  retire(): Promise<void> {
    return this.close()
  }

  abstract close(): Promise<void>
}
