import type { Config, ListenerConfig } from '../../api/index.ts'
import type { GatewayError } from '../../errors/errors.ts'
import { gatewayError } from '../../errors/errors.ts'
import { isObject } from '../../protocol/json/json.ts'
import { parseDuration, parseSize } from '../../util/units.ts'

/** A listener's part of the configuration, ready for use. */
export interface HttpSettings {
  readonly host: string
  readonly port: number
  /** Shares the port with other processes. */
  readonly reusePort: boolean
  readonly path: string
  /** URL below which clients reach the listener, without a slash at its end; undefined where they use its own. */
  readonly publicUrl: string | undefined
  /** Values of `Host` that are ours, with or without a port, lower case. */
  readonly hosts: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
  readonly maxBody: number
  readonly maxSessions: number
  readonly maxSessionsEach: number
  readonly maxConnections: number
  readonly idleMs: number
  /** Time that a client may take nothing of what is written for it. */
  readonly unreadMs: number
  readonly maxRequests: number
  readonly maxHeld: number
  /** Paths of HTTP+SSE; undefined when it is off. */
  readonly sse: { readonly path: string; readonly messages: string } | undefined
  /** Path of WebSocket; undefined when it is off. */
  readonly ws: { readonly path: string } | undefined
  readonly names: HeaderNames
  /** The eras that single requests may be of, for clients of this profile, or of none. */
  readonly offeredEras: (profile: string | undefined) => OfferedEras
  /** The profile of clients that name none. */
  readonly profile: string | undefined
  /** Endpoints of the listener itself, by path. */
  readonly endpoints: ReadonlyMap<string, ListenerEndpoint>
}

export type HttpListenerSpec = Extract<ListenerConfig, { type: 'http' }>

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARDS = new Set(['0.0.0.0', '[::]'])

/** @throws GatewayError when the address is reachable by others and the configuration does not say that it is meant. */
export function createHttpSettings(
  name: string,
  spec: HttpListenerSpec,
  config: Config,
  authenticates: boolean,
): HttpSettings {
  const bound = formatUrlHost(spec.host).toLowerCase()
  if (!isLoopback(bound) && !authenticates && !spec.exposeWithoutAuth) {
    const why =
      'others can reach that address and nothing asks who they are; configure auth, or set exposeWithoutAuth: true if that is meant'
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
    offeredEras: createEraLookup(spec, config),
    profile: spec.profile,
    endpoints: listEndpoints(spec, Object.keys(config.profiles ?? {})),
  }
}

/** The names by which clients may speak of a listener. */
function listHostNames(
  { publicUrl, allowedHosts, allowedOrigins }: HttpListenerSpec,
  bound: string,
): Pick<HttpSettings, 'publicUrl' | 'hosts' | 'origins'> {
  const seen = publicUrl === undefined ? undefined : new URL(publicUrl)
  const own = WILDCARDS.has(bound) ? LOOPBACK : [...LOOPBACK, bound]
  const hosts = [...own, ...allowedHosts]
  const origins = [...allowedOrigins]
  if (seen !== undefined) {
    hosts.push(seen.host)
    origins.push(seen.origin)
  }
  return {
    publicUrl: seen && `${seen.origin}${seen.pathname.replace(/\/+$/, '')}`,
    hosts: new Set(hosts.map(host => host.toLowerCase())),
    origins: new Set(origins.map(origin => origin.toLowerCase())),
  }
}

function createEraLookup(spec: HttpListenerSpec, config: Config): HttpSettings['offeredEras'] {
  const rest = getOfferedEras(config, spec, undefined)
  const names = Object.keys(config.profiles ?? {})
  const byProfile = new Map(names.map(name => [name, getOfferedEras(config, spec, name)]))
  return profile => (profile === undefined ? rest : (byProfile.get(profile) ?? rest))
}

function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host) || /^127(\.\d{1,3}){3}$/.test(host)
}

/** An address as it stands in a URL: IPv6 in brackets. */
export function formatUrlHost(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** The listener's own endpoints: MCP, HTTP+SSE and where its clients post, WebSocket, and the probes. */
export type EndpointKind = 'mcp' | 'sse' | 'messages' | 'ws' | 'live' | 'ready'

/** An endpoint of the listener itself. */
export interface ListenerEndpoint {
  readonly kind: EndpointKind
  /** The profile that the path names. */
  readonly profile?: string
}

interface EndpointPaths {
  readonly path: string
  readonly sse?: false | { readonly path: string; readonly messages: string }
  readonly ws?: false | { readonly path: string }
}

/** Lists every path that an HTTP listener serves by itself; all others are a plugin's or nobody's. The first of two with one path counts. */
export function listEndpoints(
  { path, sse, ws }: EndpointPaths,
  profiles: Iterable<string>,
): ReadonlyMap<string, ListenerEndpoint> {
  const places: (readonly [path: string, place: ListenerEndpoint])[] = [[path, { kind: 'mcp' }]]
  if (sse) places.push([sse.path, { kind: 'sse' }], [sse.messages, { kind: 'messages' }])
  if (ws) places.push([ws.path, { kind: 'ws' }])
  for (const profile of profiles) places.push([`${path}/${profile}`, { kind: 'mcp', profile }])
  for (const probe of ['/livez', '/healthz']) places.push([probe, { kind: 'live' }])
  places.push(['/readyz', { kind: 'ready' }])
  return new Map(places.reverse())
}

/** The eras that a listener offers over single HTTP requests, and what decides it. */
interface OfferedEras {
  readonly modern: 'all' | 'labelled' | 'none'
  /** Upstreams that keep something for each session, which a modern request without a label cannot come back to. */
  readonly sessionUpstreams: readonly string[]
}

type ListenerEras = Pick<Extract<ListenerConfig, { type: 'http' }>, 'eras' | 'sessionLabel'>

/**
 * A modern HTTP request is a session of its own. Where an upstream keeps something for each session, clients of both eras
 * are offered legacy sessions, unless they name their conversation.
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
  const asked = view?.eras ?? eras
  if (asked === 'legacy') return { modern: 'none', sessionUpstreams }
  if (asked === 'both' || sessionUpstreams.length === 0) return { modern: 'all', sessionUpstreams }
  return { modern: sessionLabel === false ? 'none' : 'labelled', sessionUpstreams }
}

function isInView(view: { readonly upstreams?: readonly string[] } | undefined, upstream: string): boolean {
  return view?.upstreams?.includes(upstream) ?? true
}

/** Says what that means for modern clients; undefined where there is nothing to say. */
export function describeEras(
  { modern, sessionUpstreams }: OfferedEras,
  label: string | false,
): string | undefined {
  const which = sessionUpstreams.map(name => `"${name}"`).join(', ')
  const by = sessionUpstreams.length === 0 ? '' : ` (isolation: session of ${which})`
  if (modern === 'none') return `legacy sessions only${by}`
  if (modern === 'labelled') return `legacy sessions only, but for requests with ${String(label)}${by}`
  return sessionUpstreams.length === 0
    ? undefined
    : `each modern request without a label is a session of its own${by}`
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is taken by another program',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'the system does not permit it',
  ENOTFOUND: 'the name has no address',
  ENOTSUP: 'this system lets no two processes share a port: remove "reusePort"',
}

/** The error for an address that the system does not give a listener; `isTaken` where something listens there already. */
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

/** Names of headers that a configuration speaks of, in lower case. */
export interface HeaderNames {
  /** The header with the label of a conversation; undefined when none is read. */
  readonly label: string | undefined
  /** Passed on beside those that always are. */
  readonly extraPassed: ReadonlySet<string>
}

/** Every header that any section names must get past the listener, or what that section says does nothing. */
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

/** The headers by which any rule of a cache section tells answers apart. */
function listVaryHeaders(section: unknown): string[] {
  if (!isObject(section)) return []
  return Object.entries(section).flatMap(([key, value]) => {
    if (key !== 'vary' || !Array.isArray(value)) return listVaryHeaders(value)
    return value.flatMap((word: unknown) =>
      typeof word === 'string' && word.startsWith('header:') ? [word.slice('header:'.length)] : [],
    )
  })
}
