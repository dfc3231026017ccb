import type { RpcId } from '../protocol/jsonrpc.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import type { Era } from '../protocol/versions.ts'
import type { ReceivedMessage } from './messages.ts'

/** Who a test client is. */
export interface TestClientOptions {
  /** Default `modern`. A legacy client initializes at once. */
  readonly era?: Era
  /** Protocol version to speak; default the newest of its era. */
  readonly version?: string
  readonly info?: { readonly name: string; readonly version: string }
  readonly capabilities?: JsonObject
  /** Headers sent with everything. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface RequestOptions {
  /** The id to send; default counts from 1. */
  readonly id?: RpcId
  /** Headers of this request alone; an empty value takes a standard one away. */
  readonly headers?: Readonly<Record<string, string>>
}

/** All that came back for one request. */
export interface Reply {
  readonly id: RpcId | null | undefined
  readonly result?: JsonObject
  readonly error?: RpcError
  /** Notifications that came ahead of the answer. */
  readonly notifications: readonly ReceivedMessage[]
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The client gave it up, and no answer came. */
  readonly isCancelled: boolean
}

/** A request under way. */
export interface RunningRequest {
  readonly id: RpcId
  readonly reply: Promise<Reply>
  /** Gives it up, the way its era does. */
  cancel(): Promise<void>
}
