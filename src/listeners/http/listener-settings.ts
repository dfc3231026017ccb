import type { Config, ListenerConfig } from '../../api/index.ts'
import type { GatewayError } from '../../errors/errors.ts'
import { gatewayError } from '../../errors/errors.ts'
import { isObject } from '../../protocol/json/json.ts'
import { parseDuration, parseSize } from '../../util/units.ts'

/** Parsed HTTP listener configuration. */
export interface HttpSettings {
  readonly host: string
  readonly port: number
  readonly reusePort: boolean
  readonly path: string
  /** Public base URL without a trailing slash; undefined if clients use the listener's address. */
  readonly publicUrl: string | undefined
  /** Accepted `Host` values, lower case, with or without a port. */
  readonly hosts: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
  readonly maxBody: number
  readonly maxSessions: number
  readonly maxSessionsEach: number
  readonly maxConnections: number
  readonly idleMs: number
  /** Write timeout: time without read progress before a client is disconnected. */
  readonly unreadMs: number
  readonly maxRequests: number
  readonly maxHeld: number
  /** Paths for HTTP+SSE; undefined if disabled. */
  readonly sse: { readonly path: string; readonly messages: string } | undefined
  /** WebSocket path; undefined if disabled. */
  readonly ws: { readonly path: string } | undefined
  readonly names: HeaderNames
  /** Eras offered over single requests, per profile. */
  readonly offeredEras: { readonly byDefault: OfferedEras; readonly byProfile: ReadonlyMap<string, OfferedEras> }
  /** Default profile. */
  readonly profile: string | undefined
  /** Built-in endpoints by path. */
  readonly endpoints: ReadonlyMap<string, ListenerEndpoint>
}

export type HttpListenerSpec = Extract<ListenerConfig, { type: 'http' }>

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARDS = new Set(['0.0.0.0', '[::]'])

/**
 * @throws GatewayError if the address is reachable by others without authentication and `exposeWithoutAuth` is false
 */
export function createHttpSettings(
  name: string,
  spec: HttpListenerSpec,
  config: Config,
  authenticates: boolean,
): HttpSettings {
  const bound = formatUrlHost(spec.host).toLowerCase()
  if (!isLoopback(bound) && !authenticates && !spec.exposeWithoutAuth) {
    const why = 'address is reachable by others without authentication; configure auth, or set exposeWithoutAuth: true'
    throw gatewayError('GW_LISTEN', { listener: name, address: `${bound}:${spec.port}`, why })
  }
  return {
    host: spec.host,
    port: spec.port,
    reusePort: spec.reusePort,
    path: spec.path,
    ...listHostNames(spec, bound),
    maxBody: parseSize(spec.limits.body),
    maxSessions: spec.limits.sessions,
    maxSessionsEach: spec.limits.sessionsPerPrincipal,
    maxConnections: spec.limits.connections,
    idleMs: parseDuration(spec.limits.idle),
    unreadMs: parseDuration(spec.limits.unread),
    maxRequests: spec.limits.requests,
    maxHeld: parseSize(spec.limits.held),
    sse: spec.sse === false ? undefined : spec.sse,
    ws: spec.ws === false ? undefined : spec.ws,
    names: createHeaderNames(spec, config),
    offeredEras: listOfferedEras(spec, config),
    profile: spec.profile,
    endpoints: listEndpoints(spec, Object.keys(config.profiles ?? {})),
  }
}

/** Host names and origins that clients may use. */
function listHostNames(
  { publicUrl, allowedHosts, allowedOrigins }: HttpListenerSpec,
  bound: string,
): Pick<HttpSettings, 'publicUrl' | 'hosts' | 'origins'> {
  const parsedUrl = publicUrl === undefined ? undefined : new URL(publicUrl)
  const own = WILDCARDS.has(bound) ? LOOPBACK : [...LOOPBACK, bound]
  const hosts = [...own, ...allowedHosts]
  const origins = [...allowedOrigins]
  if (parsedUrl !== undefined) {
    hosts.push(parsedUrl.host)
    origins.push(parsedUrl.origin)
  }
  return {
    publicUrl: parsedUrl && `${parsedUrl.origin}${parsedUrl.pathname.replace(/\/+$/, '')}`,
    hosts: new Set(hosts.map(host => host.toLowerCase())),
    origins: new Set(origins.map(origin => origin.toLowerCase())),
  }
}

function listOfferedEras(spec: HttpListenerSpec, config: Config): HttpSettings['offeredEras'] {
  const profiles = Object.keys(config.profiles ?? {})
  return {
    byDefault: getOfferedEras(config, spec, undefined),
    byProfile: new Map(profiles.map(profile => [profile, getOfferedEras(config, spec, profile)])),
  }
}

function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host) || /^127(\.\d{1,3}){3}$/.test(host)
}

/** Formats a host for a URL, with brackets around IPv6. */
export function formatUrlHost(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** Built-in endpoints; `messages` receives HTTP+SSE posts. */
export type EndpointKind = 'mcp' | 'sse' | 'messages' | 'ws' | 'live' | 'ready'

export interface ListenerEndpoint {
  readonly kind: EndpointKind
  /** Profile from the path. */
  readonly profile?: string
}

type EndpointPaths = Pick<HttpListenerSpec, 'path'> & Partial<Pick<HttpListenerSpec, 'sse' | 'ws'>>

/** Lists the paths that a listener serves itself. If two are equal, the first wins. */
export function listEndpoints(
  { path, sse, ws }: EndpointPaths,
  profiles: Iterable<string>,
): ReadonlyMap<string, ListenerEndpoint> {
  const endpoints: (readonly [path: string, endpoint: ListenerEndpoint])[] = [[path, { kind: 'mcp' }]]
  if (sse) endpoints.push([sse.path, { kind: 'sse' }], [sse.messages, { kind: 'messages' }])
  if (ws) endpoints.push([ws.path, { kind: 'ws' }])
  for (const profile of profiles) endpoints.push([`${path}/${profile}`, { kind: 'mcp', profile }])
  for (const probe of ['/livez', '/healthz']) endpoints.push([probe, { kind: 'live' }])
  endpoints.push(['/readyz', { kind: 'ready' }])
  return new Map(endpoints.reverse())
}

/** Eras offered over single requests. */
interface OfferedEras {
  readonly modern: 'all' | 'labelled' | 'none'
  /** Upstreams with state per session, which unlabelled modern requests lose. */
  readonly sessionUpstreams: readonly string[]
}

type ListenerEras = Pick<Extract<ListenerConfig, { type: 'http' }>, 'eras' | 'sessionLabel'>

/**
 * Each modern request is a session. If an upstream has state per session, only legacy sessions and labelled requests
 * are offered.
 */
export function getOfferedEras(
  config: Partial<Pick<Config, 'upstreams' | 'profiles'>>,
  { eras, sessionLabel }: ListenerEras,
  profile: string | undefined,
): OfferedEras {
  const view = profile === undefined ? undefined : config.profiles?.[profile]
  const sessionUpstreams = Object.entries(config.upstreams ?? {})
    .filter(([name, spec]) => spec.enabled && spec.isolation === 'session' && isInView(view, name))
    .map(([name]) => name)
  const requestedEras = view?.eras ?? eras
  if (requestedEras === 'legacy') return { modern: 'none', sessionUpstreams }
  if (requestedEras === 'both' || sessionUpstreams.length === 0) return { modern: 'all', sessionUpstreams }
  return { modern: sessionLabel === false ? 'none' : 'labelled', sessionUpstreams }
}

function isInView(view: { readonly upstreams?: readonly string[] } | undefined, upstream: string): boolean {
  return view?.upstreams?.includes(upstream) ?? true
}

/** Describes the effect for modern clients; undefined if there is none. */
export function describeEras({ modern, sessionUpstreams }: OfferedEras, label: string | false): string | undefined {
  const which = sessionUpstreams.map(name => `"${name}"`).join(', ')
  const by = sessionUpstreams.length === 0 ? '' : ` (isolation: session of ${which})`
  if (modern === 'none') return `legacy sessions only${by}`
  if (modern === 'labelled') return `legacy sessions only, except for requests with ${String(label)}${by}`
  return sessionUpstreams.length === 0 ? undefined : `each modern request without a label is its own session${by}`
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'port is in use',
  EADDRNOTAVAIL: 'address not available on this machine',
  EACCES: 'permission denied',
  ENOTFOUND: 'host name cannot be resolved',
  ENOTSUP: 'this system does not support shared ports: remove "reusePort"',
}

/** Creates GW_LISTEN for a bind error; `isTaken` is true if the port is in use. */
export function createListenError(
  listener: string,
  { host, port }: Pick<HttpSettings, 'host' | 'port'>,
  cause: NodeJS.ErrnoException,
): GatewayError {
  const { code = '', message } = cause
  const address = `${formatUrlHost(host)}:${port}`
  const why = LISTEN_ERRORS[code] ?? message
  return gatewayError('GW_LISTEN', { listener, address, why, cause, isTaken: code === 'EADDRINUSE' })
}

/** Header names from the configuration, in lower case. */
export interface HeaderNames {
  /** Header with the session label; undefined if disabled. */
  readonly label: string | undefined
  /** Headers passed on in addition to the defaults. */
  readonly extraPassed: ReadonlySet<string>
}

/** Collects every header that a section refers to; others do not pass the listener. */
function createHeaderNames(
  { sessionLabel }: Extract<ListenerConfig, { type: 'http' }>,
  { sessionHeaders, upstreams, cache, policy }: Config,
): HeaderNames {
  const label = sessionLabel === false ? undefined : sessionLabel.toLowerCase()
  const named = [label, sessionHeaders?.header, ...listVaryHeaders(cache), ...(policy?.headers ?? [])]
  for (const spec of Object.values(upstreams)) {
    if ('forwardHeaders' in spec) named.push(...(spec.forwardHeaders ?? []))
    named.push(...listVaryHeaders(spec.cache))
  }
  return {
    label,
    extraPassed: new Set(named.flatMap(name => (name === undefined ? [] : [name.toLowerCase()]))),
  }
}

/** Collects header names from cache `vary` rules. */
function listVaryHeaders(section: unknown): string[] {
  if (!isObject(section)) return []
  return Object.entries(section).flatMap(([key, value]) => {
    if (key !== 'vary' || !Array.isArray(value)) return listVaryHeaders(value)
    return value.flatMap((entry: unknown) =>
      typeof entry === 'string' && entry.startsWith('header:') ? [entry.slice('header:'.length)] : [],
    )
  })
}
