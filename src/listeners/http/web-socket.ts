import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import { ANONYMOUS } from '../../plugin.ts'
import { MemoryShare, UNCOUNTED_BYTES } from '../../net/backlog.ts'
import { SUBPROTOCOL, WebSocketChannel } from '../../net/channel.ts'
import { parseChoices } from '../client/client-protocol.ts'
import { authenticateRequest, checkRequest, readHeaders } from './http-request.ts'
import { createRefusal, createResponse, sendRefusal } from './response.ts'
import type { HttpContext } from './http-context.ts'
import type { Refusal } from './http-request.ts'
import { checkCapacity } from './open-connections.ts'

/** Close codes (RFC 6455 and its registry). */
const POLICY_VIOLATION = 1008
const TRY_AGAIN_LATER = 1013

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

/** Opens WebSocket sessions, with the same checks as other requests. */
export function createUpgradeHandler(context: HttpContext): Upgrade {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: context.settings.maxBody,
    handleProtocols: () => SUBPROTOCOL,
  })
  return (request, socket, head) => {
    socket.on('error', () => undefined)
    const headers = readHeaders(request.rawHeaders, context.settings.names, context.settings.profile)
    const refused =
      checkRequest(request, headers, context.settings) ??
      checkAdmission(context) ??
      checkUpgrade(request, context) ??
      checkCapacity(context, ANONYMOUS)
    if (refused !== undefined) return refuseUpgrade(request, refused)
    void Promise.resolve(authenticateRequest(context, request, headers)).then(caller => {
      if ('status' in caller) return refuseUpgrade(request, caller)
      headers.caller = caller
      const refusal = checkCapacity(context, caller)
      if (refusal !== undefined) return refuseUpgrade(request, refusal)
      headers.choices = parseChoices(request.url)
      server.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
        const { clock } = context
        const hold = new MemoryShare(context.memory)
        const channel = new WebSocketChannel(webSocket, { clock, headers: headers.passed, hold })
        channel.connected(socket)
        limitPartialMessages(context, { webSocket, channel, request })
        const forget = context.openStreams.add(headers, reason => void channel.close(POLICY_VIOLATION, reason))
        webSocket.on('close', forget)
        const { label, profile, choices } = headers
        const about = { principal: caller, label, profile, choices, socket: request.socket }
        context.connections.begin(context, channel, { via: 'ws', ...about })
      })
    })
  }
}

interface OpenWebSocket {
  readonly webSocket: WebSocket
  readonly channel: WebSocketChannel
  readonly request: IncomingMessage
}

/**
 * Counts bytes of partial messages against the listener's limit, and closes the connection if it is exceeded: a large
 * frame may never complete.
 */
function limitPartialMessages({ memory }: HttpContext, { webSocket, channel, request }: OpenWebSocket): void {
  const { socket } = request
  const hold = new MemoryShare(memory)
  let unfinished = 0
  // Runs before the parser, so that bytes after the end of a message are not counted twice.
  socket.prependListener('data', (chunk: Buffer) => {
    unfinished += chunk.length
    if (unfinished <= UNCOUNTED_BYTES || hold.claim(unfinished)) return
    // Discard the rest, so that the client can read the close reason.
    socket.removeAllListeners('data').resume()
    void channel.close(TRY_AGAIN_LATER, 'overloaded, try again later')
    socket.end()
  })
  webSocket.on('message', () => {
    unfinished = 0
    hold.set(0)
  })
  webSocket.on('close', () => hold.release())
}

function checkAdmission({ gate, name }: HttpContext): Refusal | undefined {
  const refusal = gate.admit(name)
  return refusal === 'close' ? undefined : refusal
}

function checkUpgrade({ url = '/', headers }: IncomingMessage, { settings }: HttpContext): Refusal | undefined {
  const [path] = url.split('?', 1)
  if (headers.upgrade?.toLowerCase() !== 'websocket')
    return createRefusal(400, 'Bad request: only upgrades to websocket are supported')
  if (path !== settings.ws?.path)
    return createRefusal(404, `Not found; the WebSocket endpoint is ${settings.ws?.path ?? 'off'}`)
  return offersSubprotocol(headers['sec-websocket-protocol'])
    ? undefined
    : createRefusal(400, `Bad request: Sec-WebSocket-Protocol must offer "${SUBPROTOCOL}"`)
}

function offersSubprotocol(protocols = ''): boolean {
  return protocols.split(',').some(name => name.trim() === SUBPROTOCOL)
}

function refuseUpgrade(request: IncomingMessage, refused: Refusal): void {
  const response = createResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(request.socket)
  response.on('finish', () => request.socket.destroySoon())
  sendRefusal(response, refused)
}
