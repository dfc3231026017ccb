import type { UpstreamContext } from '../../api/index.ts'
import { HEADER } from '../../protocol/methods.ts'

type RequestContext = Pick<UpstreamContext, 'authorizer' | 'account'>
type QueryParams = Readonly<Record<string, string>> | undefined

interface TargetUrlConfig {
  readonly url: string
  readonly query?: QueryParams
}

/** The URL that requests go to: the one that is configured, with the parameters that are kept apart from it as secrets. */
export function createTargetUrl(spec: TargetUrlConfig, context: RequestContext): URL {
  return withQuery(new URL(spec.url), createQuery(spec, context))
}

/** Parameters of every request: those of the configuration, and of the account whose connection it is. */
export function createQuery(
  { query }: Pick<TargetUrlConfig, 'query'>,
  { authorizer, account }: RequestContext,
): QueryParams {
  const own = authorizer?.query?.(account)
  return own === undefined ? query : { ...query, ...own }
}

/** The same URL with parameters, which replace those of the same name. */
export function withQuery(url: URL, query: QueryParams): URL {
  const entries = Object.entries(query ?? {})
  if (entries.length === 0) return url
  const target = new URL(url)
  for (const [name] of entries) if (target.searchParams.has(name)) target.searchParams.delete(name)
  // Written out by hand, as a form would have "+" for a blank, which not all servers read.
  const added = entries.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
  target.search = [target.search.slice(1), ...added].filter(part => part !== '').join('&')
  return target
}

/** Names that HTTP or MCP owns: neither the configuration nor a call may set them. */
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

/** Names that carry credentials: the configuration may set them, a call may not. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** The headers of every request: who we are, and what the configuration adds. */
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

/** Adds the headers of one call, except those that are not a call's to set. */
export function addCallHeaders(
  headers: Record<string, string>,
  added: Readonly<Record<string, string>>,
  standing: Readonly<Record<string, string>>,
): void {
  for (const name in added) {
    const value = added[name]
    const isTaken =
      RESERVED_HEADERS.has(name) || CREDENTIAL_HEADERS.has(name) || Object.hasOwn(standing, name)
    if (value !== undefined && !isTaken) headers[name] = value
  }
}
