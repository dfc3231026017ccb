import type { Config, UpstreamConfig } from '../../src/plugin.ts'
import type { OAuthSpec } from './flow/upstream-flow.ts'

/** A spec with `oauth`. */
export type OAuthUpstream = Extract<UpstreamConfig, { readonly url: string }> & { readonly oauth: OAuthSpec }

/** True for upstreams that log in. */
export function hasOAuth(spec: UpstreamConfig): spec is OAuthUpstream {
  return 'oauth' in spec && spec.oauth !== undefined
}

/** True where callers log in to an upstream with a browser, each for itself. */
export function isConnected(spec: UpstreamConfig): spec is OAuthUpstream {
  return spec.enabled && hasOAuth(spec) && spec.oauth.grant === 'code' && isOfCaller(spec)
}

export function hasLoginsOfCallers({ upstreams }: Config): boolean {
  return Object.values(upstreams).some(isConnected)
}

/** True where each caller has a login of its own. */
export function isOfCaller({ oauth }: Pick<OAuthUpstream, 'oauth'>): boolean {
  const isDelegated = oauth.grant === 'exchange' || oauth.grant === 'id-jag'
  return oauth.account === 'caller' || (isDelegated && oauth.subject?.file === undefined)
}
