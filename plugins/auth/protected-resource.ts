import type { Config } from '../../src/plugin.ts'
import { gatewayError } from '../../src/plugin.ts'

type AuthConfig = NonNullable<Config['auth']>

/** Protected resource metadata path (RFC 9728). */
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** Normalizes a resource URL: lower-case scheme and host, no default port, no trailing slash. */
export function canonicalizeResource(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return origin + pathname.replace(/\/+$/, '')
}

/** Returns a resource's metadata URL: the well-known path followed by the resource's path. */
export function buildMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return origin + buildMetadataPath(pathname)
}

function buildMetadataPath(pathname: string): string {
  return WELL_KNOWN + pathname.replace(/\/+$/, '')
}

/**
 * Lists the metadata paths, one for each endpoint path as bound and as seen by clients. The bare path exists only for
 * a resource without a path, because clients must not accept metadata that they did not request.
 */
export function listMetadataPaths({ resource }: AuthConfig, config: Config, listeners: readonly string[]): Set<string> {
  const paths = listeners.flatMap(name => {
    const spec = config.listeners[name]
    if (spec?.type !== 'http') return []
    const publicPath = spec.publicUrl === undefined ? '' : new URL(spec.publicUrl).pathname.replace(/\/+$/, '')
    return [spec.path, publicPath + spec.path]
  })
  if (resource !== undefined) paths.push(new URL(resource).pathname)
  return new Set(paths.map(buildMetadataPath))
}

/** Rejects wildcard addresses, because no token can be issued for them. */
export function checkResource({ jwt, resource }: AuthConfig, config: Config, listeners: readonly string[]): void {
  if (jwt === undefined || resource !== undefined) return
  for (const name of listeners) {
    const spec = config.listeners[name]
    if (spec?.type !== 'http' || !/^(0\.0\.0\.0|\[?::\]?)$/.test(spec.host)) continue
    if (spec.publicUrl !== undefined) continue
    const why = `set auth.resource to the URL that clients use for listener "${name}", or set its publicUrl: ${spec.host} is a wildcard address`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why })
  }
}
