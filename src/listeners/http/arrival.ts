import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpEdge } from './context.ts'
import type { RequestHeaders } from './request-headers.ts'

/** One request to the MCP endpoint, with its headers sorted. */
export interface Arrival {
  readonly edge: HttpEdge
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: RequestHeaders
}
