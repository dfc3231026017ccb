import type { AuthorizationServer } from 'oauth4webapi'
import type { JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, toOneLine, getErrorMessage } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'

/** Fetches a URL from an untrusted source for one upstream. */
export type FetchFrom = (url: string, options?: FetchFromOptions) => Promise<Response>

interface FetchFromOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | URLSearchParams | undefined
}

/** Discovery result. */
export interface DiscoveredServer {
  /** Resource identifier from the metadata. */
  readonly resource: string
  readonly server: AuthorizationServer
  /** Resource scopes; undefined if it lists none. */
  readonly scopes: readonly string[] | undefined
}

export interface DiscoveryDeps {
  readonly upstream: string
  readonly url: string
  /** Configured issuer; default: the first that the resource lists. */
  readonly issuer: string | undefined
  readonly fetchFrom: FetchFrom
}

interface ResourceMetadata {
  readonly resource: string
  readonly servers: readonly string[]
  readonly scopes: readonly string[] | undefined
}

const WELL_KNOWN_RESOURCE = '/.well-known/oauth-protected-resource'
const WELL_KNOWN_SERVER = '/.well-known/oauth-authorization-server'
const WELL_KNOWN_OPENID = '/.well-known/openid-configuration'
/** Maximum authorization servers and scopes read from a document. */
const MAX_NAMED = 100
/** Maximum reason length in characters. */
const MAX_SAID = 400

/** Discovers an upstream's authorization server; `metadata` is the URL from its challenge, if any. */
export async function discoverServer(host: DiscoveryDeps, metadata: string | undefined): Promise<DiscoveredServer> {
  const about = await fetchResourceMetadata(host, metadata)
  const issuer = host.issuer ?? about.servers[0] ?? new URL(host.url).origin
  return { resource: about.resource, server: await fetchServerMetadata(host, issuer), scopes: about.scopes }
}

/** Fetches authorization server metadata (RFC 8414 or OpenID Connect) and checks its issuer. */
export async function fetchServerMetadata(host: DiscoveryDeps, issuer: string): Promise<AuthorizationServer> {
  const metadata = await fetchFirstDocument(host, listServerUrls(issuer))
  if (metadata === undefined) throw createMetadataError(host, `${issuer} has no metadata`)
  const { origin } = URL.parse(issuer) ?? { origin: issuer }
  const { issuer: named } = metadata.document
  const isIssuer = isSameIssuer(named, issuer) || (metadata.isAtRoot && isSameIssuer(named, origin))
  if (!isIssuer)
    throw createMetadataError(host, `the metadata of ${issuer} names a different issuer, ${JSON.stringify(named)}`)
  return metadata.document as unknown as AuthorizationServer
}

/**
 * Compares issuers, ignoring a trailing slash and the case of scheme and host, in which Google's servers are
 * inconsistent.
 */
export function isSameIssuer(one: unknown, other: string): boolean {
  return typeof one === 'string' && (one === other || normalizeIssuer(one) === normalizeIssuer(other))
}

function normalizeIssuer(issuer: string): string {
  const [, origin = '', remainder = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(issuer) ?? []
  return origin === '' ? issuer : origin.toLowerCase() + remainder.replace(/\/$/, '')
}

async function fetchResourceMetadata(host: DiscoveryDeps, named: string | undefined): Promise<ResourceMetadata> {
  const pointer = named === undefined ? undefined : URL.parse(named, host.url)?.href
  const metadata = await fetchFirstDocument(host, [
    ...(pointer === undefined ? [] : [pointer]),
    ...listResourceUrls(host.url),
  ])
  // Servers of 2025-03-26 are their own authorization server, and most APIs publish no resource metadata.
  const own = host.issuer ?? new URL(host.url).origin
  if (metadata === undefined) return { resource: canonicalizeResource(host.url), servers: [own], scopes: undefined }
  const { resource, scopes_supported, authorization_servers } = metadata.document
  if (typeof resource !== 'string' || !covers(resource, host.url))
    throw createMetadataError(host, `the metadata is for another resource, ${JSON.stringify(resource)}`)
  const scopes = readStrings(scopes_supported)
  const servers = readStrings(authorization_servers)
  return {
    resource,
    servers: servers.length === 0 ? [own] : servers,
    scopes: scopes.length === 0 ? undefined : scopes,
  }
}

function listResourceUrls(url: string): string[] {
  const { origin, pathname } = new URL(url)
  const path = pathname === '/' ? '' : pathname
  return [...new Set([`${origin}${WELL_KNOWN_RESOURCE}${path}`, `${origin}${WELL_KNOWN_RESOURCE}`])]
}

function listServerUrls(issuer: string): string[] {
  const { origin, pathname } = URL.parse(issuer) ?? { origin: issuer, pathname: '' }
  const path = pathname.replace(/\/$/, '')
  const atRoot = [`${origin}${WELL_KNOWN_SERVER}`, `${origin}${WELL_KNOWN_OPENID}`]
  if (path === '') return atRoot
  return [
    `${origin}${WELL_KNOWN_SERVER}${path}`,
    `${origin}${WELL_KNOWN_OPENID}${path}`,
    `${origin}${path}${WELL_KNOWN_OPENID}`,
    ...atRoot,
  ]
}

interface FoundDocument {
  readonly document: JsonObject
  /** True if it was found at the origin's root instead of the expected path. */
  readonly isAtRoot: boolean
}

/** Fetches the first existing document. A failed URL is skipped, and reported if no other has the document. */
async function fetchFirstDocument(host: DiscoveryDeps, urls: readonly string[]): Promise<FoundDocument | undefined> {
  let failure: GatewayError | undefined
  for (const url of new Set(urls)) {
    const document = await fetchDocument(host, url)
    if (document instanceof GatewayError) failure ??= document
    else if (document !== undefined) return { document, isAtRoot: isAtRoot(url) }
  }
  if (failure !== undefined) throw failure
  return undefined
}

function isAtRoot(url: string): boolean {
  return [WELL_KNOWN_SERVER, WELL_KNOWN_OPENID].includes(new URL(url).pathname)
}

/** Returns the document, undefined if there is none, or an error after which other URLs are tried. */
async function fetchDocument(host: DiscoveryDeps, url: string): Promise<JsonObject | GatewayError | undefined> {
  let response: Response
  try {
    response = await host.fetchFrom(url, { headers: { accept: 'application/json' } })
  } catch (cause) {
    if (cause instanceof GatewayError) throw createMetadataError(host, cause.message, cause)
    return createMetadataError(host, `${url} cannot be fetched (${getErrorMessage(cause)})`, cause)
  }
  if (response.status >= 500) return createMetadataError(host, `${url} returned HTTP ${response.status}`)
  if (response.status !== 200) return undefined
  // Many sites answer every path with an HTML page.
  const value: unknown = await response.json().catch(() => undefined)
  return isObject(value) ? dropNullMembers(value) : undefined
}

/** Drops members that are null. */
export function dropNullMembers(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

function readStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(one => typeof one === 'string').slice(0, MAX_NAMED) : []
}

/** Shortens the reason, which may contain text from the server. */
function createMetadataError({ upstream }: DiscoveryDeps, message: string, cause?: unknown): GatewayError {
  return oauthError('GW_OAUTH_METADATA', { upstream, why: toOneLine(message).slice(0, MAX_SAID), cause })
}

/** Returns a URL's resource identifier (RFC 8707): no fragment, no credentials, no slash alone as the path. */
export function canonicalizeResource(url: string): string {
  const parsed = new URL(url)
  parsed.hash = ''
  parsed.username = ''
  parsed.password = ''
  return parsed.pathname === '/' && parsed.search === '' ? parsed.origin : parsed.href
}

/** Returns true if the URL is inside the resource: same origin, same path or below. */
function covers(resource: string, url: string): boolean {
  const resourceUrl = URL.parse(resource)
  const part = URL.parse(url)
  if (resourceUrl === null || part === null || resourceUrl.origin !== part.origin) return false
  if (resourceUrl.search !== '' && resourceUrl.search !== part.search) return false
  const above = resourceUrl.pathname.replace(/(?<!\/)\/+$/, '')
  const path = part.pathname.replace(/(?<!\/)\/+$/, '')
  return path === above || path.startsWith(`${above}/`)
}
