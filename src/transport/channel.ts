import type { Principal } from '../api/index.ts'
import type { Written } from '../protocol/jsonrpc.ts'

/** What came with one message, where it is an HTTP request of its own or the connection began as one. */
export interface Arrived {
  readonly headers: Readonly<Record<string, string>>
  /** Who sent this one, where that was asked anew. */
  readonly caller?: Principal
}

/** What a conversation hears of its carrier. */
export interface Ears {
  /** One message or batch. */
  message(bytes: Buffer, arrived?: Arrived): void
  /** A message was longer than `limit` and is lost. */
  tooLong(limit: number): void
  /** Nothing more comes; answers are still read. */
  ended(): void
  /** Nobody is there any more; `why` where it is known. */
  gone(why?: string): void
  /** The reader of our messages has fallen behind, or has caught up. */
  flow(): void
}

/** What carries one client's conversation: whole messages in, whole messages out. */
export interface Channel {
  /** Whether the reader of our messages is behind. */
  readonly isBlocked: boolean
  open(ears: Ears): void
  pause(): void
  resume(): void
  /** Writes a message that may be missed; false when it will be. */
  tell(message: string): boolean
  write(message: Written): void
  /** Resolves when all that was written has left, or never will. */
  finished(): Promise<void>
}
