import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { answer, type TellTale } from './http-server.ts'

/** Client of the gateway at such a server. */
export const CLIENT = 'seeded'
/** Seconds that a token lives: so short that many are given in one run. */
const LIFE_S = 2

/** A server that wants a token of its own authorization server; `issued` hears of each secret that it gives or takes. */
export async function loginServer(issued: (secret: string) => void): Promise<TellTale> {
  const heard: string[] = []
  const tokens = new Set<string>()
  let origin = ''
  /** What it gives is no news to it. */
  const noted = (secret: string): string => {
    heard.push(secret)
    issued(secret)
    return secret
  }
  const giveToken = (response: ServerResponse, form: URLSearchParams): void => {
    const token = `at-${tokens.size}-${crypto.randomUUID()}`
    tokens.add(token)
    issued(token)
    const given = { access_token: token, token_type: 'Bearer', expires_in: LIFE_S }
    if (form.get('grant_type') === 'client_credentials') return json(response, given)
    const verifier = form.get('code_verifier')
    if (verifier !== null) issued(verifier)
    const refresh_token = noted(`rt-${tokens.size}-${crypto.randomUUID()}`)
    json(response, { ...given, refresh_token, id_token: noted(idToken(origin)) })
  }
  /** Says yes to everybody, and sends the browser back. */
  const authorize = (response: ServerResponse, asks: URLSearchParams): void => {
    const back = new URL(asks.get('redirect_uri') ?? '')
    const state = asks.get('state') ?? ''
    issued(state)
    back.searchParams.set('code', noted(`code-${crypto.randomUUID()}`))
    back.searchParams.set('state', state)
    back.searchParams.set('iss', origin)
    response.writeHead(302, { location: back.href }).end()
  }
  const documents: Readonly<Record<string, () => object>> = {
    '/.well-known/oauth-protected-resource/mcp': () => ({
      resource: `${origin}/mcp`,
      authorization_servers: [origin],
    }),
    '/.well-known/oauth-authorization-server': () => ({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      authorization_response_iss_parameter_supported: true,
      token_endpoint: `${origin}/token`,
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      code_challenge_methods_supported: ['S256'],
    }),
  }
  const serve = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const { url = '', headers } = request
    const document = documents[url]
    if (document !== undefined) return json(response, document())
    if (url === '/token') return giveToken(response, new URLSearchParams(body))
    const asked = new URL(url, origin)
    if (asked.pathname === '/authorize') return authorize(response, asked.searchParams)
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

/** An ID token (OpenID Connect), whose signature nobody looks at who has it from the issuer itself. */
function idToken(issuer: string): string {
  const iat = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer, sub: `person-${crypto.randomUUID()}`, aud: CLIENT, iat, exp: iat + 60 }
  const parts = [{ alg: 'RS256' }, claims].map(part =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  return [...parts, Buffer.from(crypto.randomUUID()).toString('base64url')].join('.')
}
