/**
 * Node's HTTP, as `require` would bring it: an import evaluates every member of it, `WebSocket` among them, and loads all
 * of fetch for that, at 25 ms and 12 MB.
 */
export const { createServer, ServerResponse } = process.getBuiltinModule('node:http')
