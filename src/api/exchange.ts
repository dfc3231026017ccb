import { type JsonObject } from '../protocol/json/json.ts'
import type { HttpSide } from './http.ts'

import type { RpcError } from '../protocol/rpc-error.ts'
import type { Payload } from '../protocol/payload.ts'
import type { Era } from '../protocol/versions.ts'

/** What came of an exchange: refusing is a value, and so are a server's wish for input and a task that goes on. */
export type Answer =
  { result: Payload } | { error: RpcError; readonly http?: HttpSide } | { input: Payload } | { task: Payload }

/** Who the caller is, verified. `anonymous` on a local pipe or an unauthenticated listener. */
export interface Principal {
  readonly issuer: string
  readonly client: string
  readonly subject: string
  readonly scopes: readonly string[]
  /**
   * Who acts for it, where that is somebody else, such as an agent with a task of its: a delegate shares what its
   * principal may do, and finds none of the tasks that the principal has.
   */
  readonly delegate?: string
}

/** What a client said of itself: in `initialize` (legacy) or in each request's `_meta` (modern). */
export interface ClientSide {
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly version: string
  readonly era: Era
  /** The least severe log level the client wants; undefined means none was asked for. */
  logLevel: string | undefined
}

/** One client's conversation. A modern HTTP request is a conversation of its own. */
export interface Session {
  readonly id: string
  readonly listener: string
  /** Whose it is. Its scopes are those of the latest request; those of one request are on its exchange. */
  readonly principal: Principal
  readonly client: ClientSide
  /** What its caller calls it: conversations of one principal with one label are one to stateful servers. Never an identity. */
  readonly label?: string | undefined
  /** The profile it was opened for, by path or listener; part of the key of every view. */
  readonly profile?: string | undefined
  readonly slots: unknown[]
  /** Sends a notification to the client outside any request; false when nothing could carry it. */
  notify(notification: Notification): boolean
  /** Asks the client outside any request; absent where it cannot be asked so. */
  ask?: ((ask: Ask) => Promise<AskReply>) | undefined
}

/** A JSON-RPC notification in neutral form. */
export interface Notification {
  readonly method: string
  readonly params: JsonObject | undefined
}

/** What a server needs from the client in the middle of a call: elicitation, sampling or roots. */
export interface Ask {
  readonly method: string
  readonly params: JsonObject | undefined
  /** Whether the server no longer wants to know; absent where that cannot happen. */
  readonly isTakenBack?: boolean
  /** Runs `listener` when the server no longer wants to know: its reply is of no use then. */
  onTakeBack?(listener: (reason: string) => void): void
}

export type AskReply = { result: JsonObject } | { error: RpcError }

/** Where an exchange goes. `params` are the parameters as that upstream knows them. */
export type Route =
  | { readonly to: 'one'; readonly upstream: string; readonly params: JsonObject | undefined }
  | { readonly to: 'many'; readonly upstreams: readonly string[] }

/** One request on its way to its answer. */
export interface Exchange {
  readonly id: number
  readonly session: Session
  /** Who sent this request: the session's principal, with the scopes that came with this one. */
  readonly principal: Principal
  readonly method: string
  /** May be replaced by a `request` tap; never mutated in place. */
  params: JsonObject | undefined
  /** The parameters as they came: what is still the same goes on byte for byte. */
  readonly received?: JsonObject | undefined
  /** Whether the numbers among them are the same to every reader: 2^53+1 is another one to JavaScript. Absent: they are. */
  readonly hasExactNumbers?: boolean
  route: Route | undefined
  answer: Answer | undefined
  readonly slots: unknown[]
  /** Headers of the HTTP request that carried it, lower case; empty on a pipe. Never an identity. */
  readonly headers: Readonly<Record<string, string>>
  /** Length of the message that it came in; 0 where there was none, as inside the process. */
  readonly bytes: number
  /** The plugin whose `request` tap answered or refused it; undefined when none did. */
  readonly decidedBy: string | undefined
  /** Performance-clock time of arrival, in milliseconds. */
  readonly startedAt: number
  readonly cancelled: boolean
  /** Made on first use: an AbortSignal costs more than the rest of the pipeline. */
  readonly signal: AbortSignal
  /** Runs `listener` when the client cancels or goes away; returns the way to take it back. */
  onCancel(listener: (reason: string) => void): () => void
  /** Sends a notification that belongs to this request ahead of its answer. */
  emit(notification: Notification): void
  /** Asks under way: while there are any, somebody thinks. */
  readonly asking: number
  /** Whether the client was asked or told anything about it before its answer: then it must not be begun anew. */
  readonly touched: boolean
  /** Whether this client can be asked at all, on this request. */
  readonly canAsk: boolean
  /** Asks the client; resolves with its reply, or an error where the client cannot be asked. */
  ask(ask: Ask): Promise<AskReply>
}

/** One request to one upstream. `params` and `headers` may be changed by `call` taps. */
export interface Call {
  readonly upstream: string
  readonly method: string
  params: JsonObject | undefined
  /** Extra HTTP headers toward the upstream, lower case names. */
  readonly headers: Record<string, string>
  readonly exchange: Exchange
  /** Whether the server may answer with a task. */
  readonly mayBeTask?: boolean
  /** Runs `listener` once when the call is given up, by the client or by `cancel`; returns the way to take it back. */
  onCancel(listener: (reason: string) => void): () => void
  /** Gives up this call alone, as a deadline does: its upstream is told, its exchange goes on. */
  cancel(reason: string): void
}

/** Calls an upstream. Never rejects for what the upstream said; rejects with a GatewayError when it could not be asked. */
export type Dispatch = (call: Call) => Promise<Answer>
