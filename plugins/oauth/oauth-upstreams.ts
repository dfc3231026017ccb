import type { Config, UpstreamConfig } from '../../src/plugin.ts'
import type { OAuthSpec } from './flow/upstream-flow.ts'

/** Upstreams reached over a network. */
type NetworkUpstream = Extract<UpstreamConfig, { readonly headers: object }>

export type OAuthUpstream = NetworkUpstream & { readonly oauth: OAuthSpec }

export function hasOAuth(spec: UpstreamConfig): spec is OAuthUpstream {
  return 'oauth' in spec && spec.oauth !== undefined
}

/** Returns an upstream's configured URL, the resource of its logins. `check` rejects one without URL. */
export function getAddress(spec: OAuthUpstream): string {
  const address = 'url' in spec ? spec.url : spec.server
  if (address === undefined) throw new Error('an upstream with "oauth" needs "server"')
  return address
}

/** Returns true if each caller logs in to this upstream with a browser. */
export function hasBrowserLogins(spec: UpstreamConfig): spec is OAuthUpstream {
  return spec.enabled && hasOAuth(spec) && spec.oauth.grant === 'code' && isPerCaller(spec)
}

export function hasCallerLogins({ upstreams }: Config): boolean {
  return Object.values(upstreams).some(hasBrowserLogins)
}

/** Returns true if each caller has its own login. */
export function isPerCaller({ oauth }: Pick<OAuthUpstream, 'oauth'>): boolean {
  const isDelegated = oauth.grant === 'exchange' || oauth.grant === 'id-jag'
  return oauth.account === 'caller' || (isDelegated && oauth.subject?.file === undefined)
}
