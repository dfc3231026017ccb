import assert from 'node:assert/strict'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { createServer as createHttpServer } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { closeAfter, testClient, testGateway } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const TOKEN = 'operator-credential-0123456789'

/** Ways to write where a redirect leads: to a port of this machine, by whatever name it has. */
const FORMS: Readonly<Record<string, (port: number) => string>> = {
  'an address': port => `http://127.0.0.1:${port}/mcp`,
  'a name': port => `http://localhost:${port}/mcp`,
  'a name with a dot at its end': port => `http://localhost.:${port}/mcp`,
  'capital letters': port => `HTTP://LOCALHOST:${port}/mcp`,
  'a short address': port => `http://127.1:${port}/mcp`,
  'a decimal address': port => `http://2130706433:${port}/mcp`,
  'a hexadecimal address': port => `http://0x7f000001:${port}/mcp`,
  'an octal address': port => `http://0177.0.0.1:${port}/mcp`,
  'another loopback address': port => `http://127.0.0.2:${port}/mcp`,
  'the unspecified address': port => `http://0.0.0.0:${port}/mcp`,
  IPv6: port => `http://[::1]:${port}/mcp`,
  'IPv4 in IPv6': port => `http://[::ffff:127.0.0.1]:${port}/mcp`,
  'IPv4 in IPv6, in hexadecimal': port => `http://[::ffff:7f00:1]:${port}/mcp`,
  'no scheme': port => `//127.0.0.1:${port}/mcp`,
  backslashes: port => `\\\\127.0.0.1:${port}\\mcp`,
  'a user and a password': port => `http://user:word@127.0.0.1:${port}/mcp`,
  'a user like our host': port => `http://HOST@127.0.0.1:${port}/mcp`,
  TLS: port => `https://127.0.0.1:${port}/mcp`,
  'a WebSocket': port => `ws://127.0.0.1:${port}/mcp`,
  'wide digits': port => `http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1:${port}/mcp`,
}

/** Counts who connects, on every address of this machine. */
async function canary(t: TestContext): Promise<{ port: number; connections: () => number }> {
  let connections = 0
  const server = createServer(socket => {
    connections++
    socket.destroy()
  })
  return { port: await listening(t, server, undefined), connections: () => connections }
}

/** A server that sends everybody elsewhere, and knows whether it was given the credential. */
async function redirecting(
  t: TestContext,
  status: number,
  to: (own: string) => string,
): Promise<{ url: string; asked: () => number }> {
  let asked = 0
  const server = createHttpServer((request, response) => {
    if (request.headers.authorization === `Bearer ${TOKEN}`) asked++
    request.resume()
    response.writeHead(status, { location: to(request.headers.host ?? '') }).end()
  })
  const port = await listening(t, server, '127.0.0.1')
  return { url: `127.0.0.1:${port}/mcp`, asked: () => asked }
}

async function listening(t: TestContext, server: Server, host: string | undefined): Promise<number> {
  await new Promise<void>(resolve => void server.listen(0, host, resolve))
  cleanup(t, () => void server.close())
  return (server.address() as AddressInfo).port
}

describe('a redirect of an upstream', () => {
  const rows = Object.entries(FORMS).map(([name, form], i) => ({
    name,
    form,
    status: [301, 302, 303, 307, 308][i % 5] ?? 302,
  }))
  for (const { name, form, status } of rows)
    it(`(${status}) to ${name} is followed by no transport, so no credential goes along`, async t => {
      const { port, connections } = await canary(t)
      const server = await redirecting(t, status, own => form(port).replace('HOST', own))
      const headers = { authorization: `Bearer ${TOKEN}` }
      const upstreams = {
        http: { type: 'http', url: `http://${server.url}`, headers, retry: false },
        sse: { type: 'sse', url: `http://${server.url}`, headers, retry: false },
        ws: { type: 'ws', url: `ws://${server.url}`, headers, retry: false },
      }
      const gateway = closeAfter(t, await testGateway({ config: { upstreams } }))
      const client = closeAfter(t, await testClient(gateway))

      for (const upstream of Object.keys(upstreams)) {
        const { error } = await client.request('tools/call', { name: `${upstream}__echo`, arguments: {} })
        assert.ok(error, upstream)
      }

      assert.ok(server.asked() >= 3, 'each transport was there, with its credential')
      assert.equal(connections(), 0)
    })
})
