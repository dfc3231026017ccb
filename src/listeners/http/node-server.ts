import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http'

/**
 * Node's HTTP, as `require` would bring it: an import evaluates every member of it, `WebSocket` among them, and loads all
 * of fetch for that, at 25 ms and 12 MB. And not before there is something to serve: that is another 3 ms.
 */
const http = () => process.getBuiltinModule('node:http')

/** A server of Node's. */
export function createServer(options: ServerOptions, answer: RequestListener): Server {
  return http().createServer(options, answer)
}

/** The response to a request that no server of Node's has answered. */
export function responseTo(request: IncomingMessage): ServerResponse {
  return new (http().ServerResponse)(request)
}
