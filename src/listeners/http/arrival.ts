import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpContext } from './context.ts'
import type { RequestHeaders } from './request-headers.ts'

/** One request to the MCP endpoint, with its headers sorted. */
export interface Arrival {
  readonly context: HttpContext
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: RequestHeaders
}
