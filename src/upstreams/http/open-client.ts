import type { UpstreamContext } from '../../api/index.ts'
import type { HttpUpstreamConfig } from '../../config/config.gen.ts'
import { HttpClient } from '../../http-client/http-client.ts'
import type { Detour, HttpTransport } from '../../http-client/port.ts'
import { proxyFor } from '../../http-client/proxy.ts'
import { UndiciClient } from '../../http-client/undici-client.ts'
import { readTls } from '../tls-files.ts'
import { detourOf } from './detour.ts'
import { authorized } from './authorized-client.ts'

const CONNECT_MS = 5000

/** The keys of an upstream that say how it is reached over HTTP. */
export type Reach = Pick<HttpUpstreamConfig, 'url' | 'proxy' | 'tls' | 'http2'>

/** The HTTP client of an upstream; with the credentials of its authorizer, where it has one. */
export function openClient(reach: Reach, context: UpstreamContext, connections: number): HttpTransport {
  return authorized(plainClient(reach, context, connections, detourOf(reach.url)), context)
}

/** Returns the fast client, or the one on undici where proxies, certificates or HTTP/2 are wanted. */
export function plainClient(
  { url, proxy, tls, http2 }: Reach,
  context: UpstreamContext,
  connections: number,
  detour?: Detour,
): HttpTransport {
  const target = new URL(url)
  const { clock, environment, log } = context
  const through = proxy ?? proxyFor(target, environment)
  const sizes = { connections, connectMs: CONNECT_MS, detour }
  if (typeof through !== 'string' && tls === undefined && !http2)
    return new HttpClient(target, { clock, ...sizes })
  if (typeof through === 'string') log.debug('connecting through a proxy', { proxy: new URL(through).host })
  return new UndiciClient(target, {
    ...sizes,
    http2,
    proxy: typeof through === 'string' ? through : undefined,
    tls: tls === undefined ? undefined : readTls(tls, context),
  })
}
