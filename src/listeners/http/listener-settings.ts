import { offeredEras, type OfferedEras } from './offered-eras.ts'
import type { Config, ListenerConfig } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { headerNames, type HeaderNames } from './header-names.ts'
import type { HeldLimits } from '../../transport/held-bytes.ts'
import { placesOf, type Place } from './paths.ts'
import { parseDuration, parseSize } from '../../util/units.ts'

/** A listener's part of the configuration, ready for use. */
export interface HttpSettings {
  readonly host: string
  readonly port: number
  readonly path: string
  /** Values of `Host` that are ours, with or without a port, lower case. */
  readonly hosts: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
  readonly maxBody: number
  readonly maxSessions: number
  readonly maxSessionsEach: number
  readonly maxConnections: number
  readonly idleMs: number
  /** How long a client may take nothing of what is written for it. */
  readonly unreadMs: number
  readonly held: HeldLimits
  /** Where HTTP+SSE is served; undefined when it is off. */
  readonly sse: { readonly path: string; readonly messages: string } | undefined
  /** Where WebSocket is served; undefined when it is off. */
  readonly ws: { readonly path: string } | undefined
  readonly names: HeaderNames
  /** Which eras single requests may be of, for who names this profile, or none. */
  readonly offered: (profile: string | undefined) => OfferedEras
  /** The profile of who names none. */
  readonly profile: string | undefined
  /** What is served by the listener itself, by path. */
  readonly places: ReadonlyMap<string, Place>
}

export type HttpListenerSpec = Extract<ListenerConfig, { type: 'http' }>

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
const WILDCARDS = new Set(['0.0.0.0', '[::]'])

/** @throws GatewayError when the address is reachable by others and the configuration does not say that it is meant. */
export function httpSettings(
  name: string,
  spec: HttpListenerSpec,
  config: Config,
  authenticates: boolean,
): HttpSettings {
  const bound = inUrl(spec.host).toLowerCase()
  if (!isLoopback(bound) && !authenticates && !spec.exposeWithoutAuth) {
    const why =
      'others can reach that address and nothing asks who they are; configure auth, or set exposeWithoutAuth: true if that is meant'
    throw gatewayError('GW_LISTEN', { listener: name, address: `${bound}:${spec.port}`, why })
  }
  const own = WILDCARDS.has(bound) ? LOOPBACK : [...LOOPBACK, bound]
  return {
    host: spec.host,
    port: spec.port,
    path: spec.path,
    hosts: new Set([...own, ...spec.allowedHosts.map(host => host.toLowerCase())]),
    origins: new Set(spec.allowedOrigins.map(origin => origin.toLowerCase())),
    maxBody: parseSize(spec.limits.body),
    maxSessions: spec.limits.sessions,
    maxSessionsEach: spec.limits.sessionsPerPrincipal,
    maxConnections: spec.limits.connections,
    idleMs: parseDuration(spec.limits.idle),
    unreadMs: parseDuration(spec.limits.unread),
    held: { total: parseSize(spec.limits.held), each: parseSize(spec.limits.heldPerClient) },
    sse: spec.sse === false ? undefined : spec.sse,
    ws: spec.ws === false ? undefined : spec.ws,
    names: headerNames(spec, config),
    offered: offeredBy(spec, config),
    profile: spec.profile,
    places: placesOf(spec, Object.keys(config.profiles ?? {})),
  }
}

function offeredBy(spec: HttpListenerSpec, config: Config): HttpSettings['offered'] {
  const rest = offeredEras(config, spec, undefined)
  const names = Object.keys(config.profiles ?? {})
  const byProfile = new Map(names.map(name => [name, offeredEras(config, spec, name)]))
  return profile => (profile === undefined ? rest : (byProfile.get(profile) ?? rest))
}

function isLoopback(host: string): boolean {
  return LOOPBACK.includes(host) || /^127(\.\d{1,3}){3}$/.test(host)
}

/** An address as it stands in a URL: IPv6 in brackets. */
export function inUrl(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}
