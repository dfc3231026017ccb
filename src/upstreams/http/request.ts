import type { UpstreamContext } from '../../api/index.ts'
import { HEADER } from '../../protocol/methods.ts'

type RequestContext = Pick<UpstreamContext, 'authorizer' | 'account'>
type QueryParams = Readonly<Record<string, string>> | undefined

interface TargetUrlConfig {
  readonly url: string
  readonly query?: QueryParams
}

/** Returns the request URL: the configured one, with the query parameters that are stored separately as secrets. */
export function createTargetUrl(spec: TargetUrlConfig, context: RequestContext): URL {
  return withQuery(new URL(spec.url), createQuery(spec, context))
}

/** Query parameters for every request: from the configuration and the connection's account. */
export function createQuery(
  { query }: Pick<TargetUrlConfig, 'query'>,
  { authorizer, account }: RequestContext,
): QueryParams {
  const own = authorizer?.query?.(account)
  return own === undefined ? query : { ...query, ...own }
}

/** Adds query parameters to a URL, replacing those with the same name. */
export function withQuery(url: URL, query: QueryParams): URL {
  const entries = Object.entries(query ?? {})
  if (entries.length === 0) return url
  const target = new URL(url)
  for (const [name] of entries) if (target.searchParams.has(name)) target.searchParams.delete(name)
  // URLSearchParams would encode a blank as "+", which some servers do not decode.
  const added = entries.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
  target.search = [target.search.slice(1), ...added].filter(part => part !== '').join('&')
  return target
}

/** Headers that belong to HTTP or MCP: neither the configuration nor a call may set them. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  HEADER.session,
  HEADER.version,
  HEADER.method,
  HEADER.name,
  HEADER.lastEventId,
])

/** Credential headers: the configuration may set them, a call may not. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** Headers for every request: the user agent, and those from the configuration. */
export function createStandingHeaders(
  configured: Readonly<Record<string, string>>,
  agent: string,
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': agent, 'accept-encoding': 'identity' }
  for (const [name, value] of Object.entries(configured)) {
    const lower = name.toLowerCase()
    if (!RESERVED_HEADERS.has(lower)) headers[lower] = value
  }
  return headers
}

/** Adds one call's headers, except those that a call may not set. */
export function addCallHeaders(
  headers: Record<string, string>,
  added: Readonly<Record<string, string>>,
  standing: Readonly<Record<string, string>>,
): void {
  for (const name in added) {
    const value = added[name]
    const isTaken = RESERVED_HEADERS.has(name) || CREDENTIAL_HEADERS.has(name) || Object.hasOwn(standing, name)
    if (value !== undefined && !isTaken) headers[name] = value
  }
}
