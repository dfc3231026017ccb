import type { AuthorizationServer } from 'oauth4webapi'
import type { JsonObject } from '../../../src/plugin.ts'
import { GatewayError, isObject, toOneLine, getErrorMessage } from '../../../src/plugin.ts'
import { oauthError } from '../errors.ts'

/** Fetches a URL that somebody else named, on behalf of one upstream. */
export type FetchFrom = (url: string, options?: FetchFromOptions) => Promise<Response>

interface FetchFromOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | URLSearchParams | undefined
  readonly signal?: AbortSignal | undefined
}

/** Place of a login, and what it is for. */
export interface DiscoveredServer {
  /** Identifier of the protected resource, as its metadata has it. */
  readonly resource: string
  readonly server: AuthorizationServer
  /** Scopes that the resource knows of; undefined where it names none. */
  readonly scopes: readonly string[] | undefined
}

/** The upstream whose login is looked for. */
export interface DiscoveryDeps {
  readonly upstream: string
  readonly url: string
  /** The issuer of the configuration; default the first that the resource names. */
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
/** Authorization servers and scopes read of one document. */
const MAX_NAMED = 100
/** Characters of a reason. */
const MAX_SAID = 400

/** Finds the authorization server of an upstream; `metadata` is the URL of its challenge, where it named one. */
export async function discoverServer(
  host: DiscoveryDeps,
  metadata: string | undefined,
): Promise<DiscoveredServer> {
  const about = await fetchResourceMetadata(host, metadata)
  const issuer = host.issuer ?? about.servers[0] ?? new URL(host.url).origin
  return { resource: about.resource, server: await fetchServerMetadata(host, issuer), scopes: about.scopes }
}

/** Fetches the metadata of an authorization server (RFC 8414, or OpenID Connect), which must be that of the issuer. */
export async function fetchServerMetadata(host: DiscoveryDeps, issuer: string): Promise<AuthorizationServer> {
  const found = await fetchFirstDocument(host, listServerUrls(issuer))
  if (found === undefined) throw createMetadataError(host, `${issuer} has no metadata`)
  const { origin } = URL.parse(issuer) ?? { origin: issuer }
  const { issuer: named } = found.document
  const isIssuer = isSameIssuer(named, issuer) || (found.isAtRoot && isSameIssuer(named, origin))
  if (!isIssuer)
    throw createMetadataError(
      host,
      `the metadata of ${issuer} is that of another issuer, ${JSON.stringify(named)}`,
    )
  return found.document as unknown as AuthorizationServer
}

/** Compares issuers without the slash at the end and the case of scheme and host, which Google's servers mix. */
export function isSameIssuer(one: unknown, other: string): boolean {
  return typeof one === 'string' && (one === other || normalizeIssuer(one) === normalizeIssuer(other))
}

function normalizeIssuer(issuer: string): string {
  const [, origin = '', rest = ''] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)(.*)$/is.exec(issuer) ?? []
  return origin === '' ? issuer : origin.toLowerCase() + rest.replace(/\/$/, '')
}

async function fetchResourceMetadata(
  host: DiscoveryDeps,
  named: string | undefined,
): Promise<ResourceMetadata> {
  const pointer = named === undefined ? undefined : URL.parse(named, host.url)?.href
  const found = await fetchFirstDocument(host, [
    ...(pointer === undefined ? [] : [pointer]),
    ...listResourceUrls(host.url),
  ])
  // Servers of 2025-03-26 are their own authorization server. Most APIs publish no metadata of the resource.
  const own = host.issuer ?? new URL(host.url).origin
  if (found === undefined)
    return { resource: canonicalizeResource(host.url), servers: [own], scopes: undefined }
  const { resource, scopes_supported, authorization_servers } = found.document
  if (typeof resource !== 'string' || !covers(resource, host.url))
    throw createMetadataError(host, `its metadata is that of another resource, ${JSON.stringify(resource)}`)
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
  /** True if it was found at the root of the origin, whatever the path of what was looked for. */
  readonly isAtRoot: boolean
}

/** Fetches the first of the documents that exists. A failing place is skipped, and reported if no other has the document. */
async function fetchFirstDocument(
  host: DiscoveryDeps,
  urls: readonly string[],
): Promise<FoundDocument | undefined> {
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

/** The document, undefined if there is none, or the failure after which another place may be asked. */
async function fetchDocument(
  host: DiscoveryDeps,
  url: string,
): Promise<JsonObject | GatewayError | undefined> {
  let response: Response
  try {
    response = await host.fetchFrom(url, { headers: { accept: 'application/json' } })
  } catch (cause) {
    if (cause instanceof GatewayError) throw createMetadataError(host, cause.message, cause)
    return createMetadataError(host, `${url} cannot be fetched (${getErrorMessage(cause)})`, cause)
  }
  if (response.status >= 500) return createMetadataError(host, `${url} answers HTTP ${response.status}`)
  if (response.status !== 200) return undefined
  // Many sites answer every path with a page of theirs.
  const value: unknown = await response.json().catch(() => undefined)
  return isObject(value) ? dropNullMembers(value) : undefined
}

/** A copy in which a member that is null is absent. */
export function dropNullMembers(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
}

function readStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(one => typeof one === 'string').slice(0, MAX_NAMED) : []
}

/** Words of strangers are in it, who may say much. */
function createMetadataError({ upstream }: DiscoveryDeps, said: string, cause?: unknown): GatewayError {
  const line = toOneLine(said)
  const why = line.length > MAX_SAID ? `${line.slice(0, MAX_SAID)}…` : line
  return oauthError('GW_OAUTH_METADATA', { upstream, why, cause })
}

/** A server's URL as its resource identifier (RFC 8707): no fragment, and no slash alone at the end. */
export function canonicalizeResource(url: string): string {
  const parsed = new URL(url)
  parsed.hash = ''
  parsed.username = ''
  parsed.password = ''
  return parsed.pathname === '/' && parsed.search === '' ? parsed.origin : parsed.href
}

/** True if a protected resource has the server's URL in it: the same origin, and the same path or one above it. */
function covers(resource: string, url: string): boolean {
  const whole = URL.parse(resource)
  const part = URL.parse(url)
  if (whole === null || part === null || whole.origin !== part.origin) return false
  if (whole.search !== '' && whole.search !== part.search) return false
  const above = whole.pathname.replace(/(?<!\/)\/+$/, '')
  const path = part.pathname.replace(/(?<!\/)\/+$/, '')
  return path === above || path.startsWith(`${above}/`)
}
