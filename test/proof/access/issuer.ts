import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose'

/** An issuer of tokens on loopback, whose keys can change and whose door can close. */
export interface Issuer {
  readonly url: string
  readonly jwks: string
  /** The public key in force. */
  readonly publicKey: CryptoKey
  /** Requests for the keys so far. */
  fetches(): number
  isDown: boolean
  /** A new key in place of the old one. */
  rotate(): Promise<void>
  /** A good token for `audience`, changed by what is given; `undefined` takes a claim away. */
  sign(audience: string, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>
  close(): Promise<void>
}

export const now = (): number => Math.floor(Date.now() / 1000)

export async function startIssuer(): Promise<Issuer> {
  let pair = await generateKeyPair('ES256', { extractable: true })
  let kid = 1
  let fetches = 0
  const server = createServer((_request, response) => {
    fetches++
    if (issuer.isDown) return void response.writeHead(503).end()
    void exportJWK(pair.publicKey).then((key: JWK) =>
      response.end(JSON.stringify({ keys: [{ ...key, kid: `key-${kid}`, alg: 'ES256', use: 'sig' }] })),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer: Issuer = {
    url,
    jwks: `${url}/jwks.json`,
    get publicKey() {
      return pair.publicKey
    },
    fetches: () => fetches,
    isDown: false,
    async rotate() {
      pair = await generateKeyPair('ES256', { extractable: true })
      kid++
    },
    sign(audience, claims = {}, header = {}) {
      const payload = {
        iss: url,
        aud: audience,
        sub: 'alice',
        client_id: 'app',
        iat: now(),
        exp: now() + 300,
      }
      return new SignJWT({ ...payload, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: `key-${kid}`, ...header })
        .sign(pair.privateKey, { crit: { odd: true, b64: true } })
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return issuer
}
