import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Peer, PeerDirectory, PeerLookup } from '../../../../src/api/index.ts'
import { PeerProxy } from '../../../../src/listeners/http/peer-proxy.ts'
import { systemClock } from '../../../../src/util/clock.ts'
import { SILENT } from '../../plugins/install.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

export const SESSION = `r${'0'.repeat(16)}_x`
type Address = Peer['address']

/** A server that others hand on to. */
export async function owner(t: TestContext, answer: RequestListener): Promise<Server> {
  const server = createServer({ requestTimeout: 0 }, answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

export function addressOf(server: Server): Address {
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

export function neighbour(address: Address, more: Partial<Peer> = {}): Peer {
  return { address, signForwarded: () => 'proof', ...more }
}

/** A server whose sessions are all elsewhere; what turns out to be here is echoed by it. */
export async function entry(
  t: TestContext,
  where: () => PeerLookup | Promise<PeerLookup>,
): Promise<{ port: number; handOn: PeerProxy }> {
  const handOn = new PeerProxy({
    serve: (asked, response) => void asked.pipe(response.setHeader('x-served', 'here')),
    listener: 'main',
    neighbours: { findPeer: where } as unknown as PeerDirectory,
    clock: systemClock,
    log: SILENT,
  })
  const server = await owner(t, (asked, response) => {
    if (!handOn.forwardToOwner(asked, response)) response.end('not handed on')
  })
  cleanup(t, () => handOn.stop())
  return { port: (server.address() as AddressInfo).port, handOn }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

export function ask(
  port: number,
  body: string | Buffer = '',
  headers: Record<string, string | string[]> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        path: '/mcp?a=b',
        headers: { 'mcp-session-id': SESSION, ...headers },
      },
      answer =>
        void textOf(answer).then(
          text => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }),
          reject,
        ),
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

export async function textOf(from: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of from) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}
