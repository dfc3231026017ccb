import type { Config, UpstreamConfig } from '../../src/plugin.ts'
import type { OAuthSpec } from './flow/upstream-flow.ts'

/** Upstreams that are reached over a network: they have headers. */
type NetworkUpstream = Extract<UpstreamConfig, { readonly headers: object }>

/** A spec with `oauth`. */
export type OAuthUpstream = NetworkUpstream & { readonly oauth: OAuthSpec }

/** True for upstreams that log in. */
export function hasOAuth(spec: UpstreamConfig): spec is OAuthUpstream {
  return 'oauth' in spec && spec.oauth !== undefined
}

/** URL that an upstream is reached at by its configuration: what its logins are for. `check` refuses one without. */
export function getAddress(spec: OAuthUpstream): string {
  const address = 'url' in spec ? spec.url : spec.server
  if (address === undefined) throw new Error('an upstream with "oauth" needs "server"')
  return address
}

/** True where callers log in to an upstream with a browser, each for itself. */
export function hasBrowserLogins(spec: UpstreamConfig): spec is OAuthUpstream {
  return spec.enabled && hasOAuth(spec) && spec.oauth.grant === 'code' && isPerCaller(spec)
}

export function hasCallerLogins({ upstreams }: Config): boolean {
  return Object.values(upstreams).some(hasBrowserLogins)
}

/** True where each caller has a login of its own. */
export function isPerCaller({ oauth }: Pick<OAuthUpstream, 'oauth'>): boolean {
  const isDelegated = oauth.grant === 'exchange' || oauth.grant === 'id-jag'
  return oauth.account === 'caller' || (isDelegated && oauth.subject?.file === undefined)
}
