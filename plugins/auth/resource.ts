import type { Config } from '../../src/plugin.ts'
import { gatewayError } from '../../src/plugin.ts'

type AuthConfig = NonNullable<Config['auth']>

/** Path at which protected resources describe themselves (RFC 9728). */
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** A resource as it is named everywhere: scheme and host in lower case, no default port, and no slash at its end. */
export function canonicalizeResource(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return origin + pathname.replace(/\/+$/, '')
}

/** The URL of the description of a resource: its path goes behind the well-known one. */
export function buildMetadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return origin + buildMetadataPath(pathname)
}

function buildMetadataPath(pathname: string): string {
  return WELL_KNOWN + pathname.replace(/\/+$/, '')
}

/**
 * Paths of the metadata: with the path of each endpoint behind it, as bound and as clients know it. Without a path there is
 * something only where the resource has none: a client must not believe a description that it did not ask for.
 */
export function listMetadataPaths(
  { resource }: AuthConfig,
  config: Config,
  listeners: readonly string[],
): Set<string> {
  const paths = listeners.flatMap(name => {
    const spec = config.listeners[name]
    if (spec?.type !== 'http') return []
    const seen = spec.publicUrl === undefined ? '' : new URL(spec.publicUrl).pathname.replace(/\/+$/, '')
    return [spec.path, seen + spec.path]
  })
  if (resource !== undefined) paths.push(new URL(resource).pathname)
  return new Set(paths.map(buildMetadataPath))
}

/** A wildcard address is nobody's name: tokens cannot be made for it. */
export function checkResource(
  { jwt, resource }: AuthConfig,
  config: Config,
  listeners: readonly string[],
): void {
  if (jwt === undefined || resource !== undefined) return
  for (const name of listeners) {
    const spec = config.listeners[name]
    if (spec?.type !== 'http' || !/^(0\.0\.0\.0|\[?::\]?)$/.test(spec.host)) continue
    if (spec.publicUrl !== undefined) continue
    const why = `auth.resource must say how clients reach listener "${name}", as ${spec.host} is no name; or its publicUrl does`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'auth', why })
  }
}
