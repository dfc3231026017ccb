import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RpcError } from '../protocol/rpc-error.ts'

/** A request that goes no further: the HTTP status and the error that say why. */
export interface Refusal {
  readonly status: number
  readonly error: RpcError
  readonly headers?: Readonly<Record<string, string>>
}

/** What came with an HTTP request, for the plugin that finds out whose it is. A body has not been read yet. */
export interface Credentials {
  readonly listener: string
  /** Upper case, such as `POST`. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Every value of a header, in order; empty when it was not sent. */
  header(name: string): readonly string[]
  /** URL of the listener's MCP endpoint as it is bound, such as `http://127.0.0.1:8080/mcp`. */
  readonly endpoint: string
  /** The address of the other end of the connection. */
  readonly remoteAddress: string | undefined
  /** Nobody is turned away for want of them: they only say how much is told. */
  readonly isOptional?: boolean
}

/** What a plugin answers an `HttpRequest` with. Header names are lower case. */
export interface HttpReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Written as it is; what is iterated over is streamed, no faster than it is read. */
  readonly body?: string | Buffer | AsyncIterable<string | Buffer>
}

/** What HTTP says of an error, where the whole response is this one answer; everywhere else the error alone is sent. */
export interface HttpSide {
  readonly status: number
  /** Such as `retry-after`; lower case names. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Answers one HTTP request of a listener. */
export type HttpServe = (request: IncomingMessage, response: ServerResponse) => void

/** Processes that accept on the same addresses. What one of them keeps has an id that says so, and is asked of that one. */
export interface Neighbours {
  /** What the ids of all that this process keeps begin with. */
  readonly idPrefix: string
  /**
   * Answers, for one listener, what arrived elsewhere and belongs here. Returns the way to hand on what arrived here: it
   * says whether it has, or the request is for this process.
   */
  join(listener: string, serve: HttpServe): (request: IncomingMessage, response: ServerResponse) => boolean
}
