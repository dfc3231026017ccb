import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { answer, type TellTale } from './http-server.ts'

/** A server that wants a token of its own authorization server; `issued` hears each. */
export async function loginServer(issued: (token: string) => void): Promise<TellTale> {
  const heard: string[] = []
  const tokens = new Set<string>()
  let origin = ''
  const giveToken = (response: ServerResponse): void => {
    const token = `at-${tokens.size}-${crypto.randomUUID()}`
    tokens.add(token)
    issued(token)
    // So short that many are given in one run.
    json(response, { access_token: token, token_type: 'Bearer', expires_in: 2 })
  }
  const documents: Readonly<Record<string, () => object>> = {
    '/.well-known/oauth-protected-resource/mcp': () => ({
      resource: `${origin}/mcp`,
      authorization_servers: [origin],
    }),
    '/.well-known/oauth-authorization-server': () => ({
      issuer: origin,
      token_endpoint: `${origin}/token`,
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      code_challenge_methods_supported: ['S256'],
    }),
  }
  const serve = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const { url = '', headers } = request
    const document = documents[url]
    if (document !== undefined) return json(response, document())
    if (url === '/token') return giveToken(response)
    if (tokens.has(headers.authorization?.slice('Bearer '.length) ?? ''))
      return answer(request, response, body)
    response
      .writeHead(401, { 'www-authenticate': `Bearer error_description="${headers.authorization ?? ''}"` })
      .end()
  }
  const server = createServer((request, response) => {
    void text(request)
      .then(body => {
        heard.push(request.url ?? '', request.rawHeaders.join('\n'), decodeURIComponent(body))
        serve(request, response, body)
      })
      .catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  origin = `http://127.0.0.1:${port}`
  return {
    port,
    heard: () => heard.join('\n'),
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
