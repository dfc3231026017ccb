import type { ClientRequestArgs } from 'node:http'
import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { Socket } from 'node:net'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { connect, getCACertificates } from 'node:tls'
import { ClientError } from '../../net/http-client-types.ts'

/** A connection's proxy, and its trusted authorities in addition to the system's. */
interface ProxyTunnel {
  readonly proxy: string
  readonly ca?: string | undefined
  readonly connectMs: number
}

type TunnelCallback = (error: Error | null, socket?: Socket) => void

/** Opens connections for Node HTTP requests through a proxy: a CONNECT tunnel, with TLS inside for https and wss. */
export function connectThroughProxy(
  tunnel: ProxyTunnel,
  isSecure: boolean,
): (options: ClientRequestArgs, done: TunnelCallback) => undefined {
  return (options, done) => {
    const host = String(options.host)
    const isAddress = isIP(host) !== 0
    const request = createConnectRequest(tunnel, `${isIP(host) === 6 ? `[${host}]` : host}:${options.port ?? ''}`)
    request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
      request.setTimeout(0)
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy()
        return done(new ClientError('PROXY', `proxy error: HTTP ${statusCode}`))
      }
      const secure: ConnectionOptions = { ...(options as ConnectionOptions), socket }
      done(null, isSecure ? connect({ ...secure, ...(isAddress ? {} : { servername: host }) }) : socket)
    })
    request.once('response', ({ statusCode = 0 }) => {
      request.destroy(new ClientError('PROXY', `proxy error: HTTP ${statusCode}`))
    })
    request.once('timeout', () => request.destroy(new ClientError('PROXY', 'proxy timed out')))
    request.once('error', error => done(error))
    request.end()
    return undefined
  }
}

function createConnectRequest({ proxy, ca, connectMs }: ProxyTunnel, target: string): ReturnType<typeof requestPlain> {
  const { protocol, hostname, port, username, password } = new URL(proxy)
  const isSecure = protocol === 'https:'
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authorization =
    username === '' && password === ''
      ? {}
      : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }
  const options = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...authorization },
    agent: false,
    timeout: connectMs,
  } as const
  const trust = ca === undefined ? {} : { ca: [ca, ...getCACertificates('default')] }
  return isSecure ? requestSecure({ ...options, ...trust }) : requestPlain(options)
}
