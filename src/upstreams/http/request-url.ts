import type { UpstreamContext } from '../../api/index.ts'

type Context = Pick<UpstreamContext, 'authorizer' | 'account'>
type Query = Readonly<Record<string, string>> | undefined

interface Target {
  readonly url: string
  readonly query?: Query
}

/** The URL that requests go to: the one that is configured, with the parameters that are kept apart from it as secrets. */
export function targetOf(spec: Target, context: Context): URL {
  return withQuery(new URL(spec.url), queryOf(spec, context))
}

/** Parameters of every request: those of the configuration, and of the account whose connection it is. */
export function queryOf({ query }: Pick<Target, 'query'>, { authorizer, account }: Context): Query {
  const own = authorizer?.query?.(account)
  return own === undefined ? query : { ...query, ...own }
}

/** The same URL with parameters, which replace those of the same name. */
export function withQuery(url: URL, query: Query): URL {
  const entries = Object.entries(query ?? {})
  if (entries.length === 0) return url
  const target = new URL(url)
  for (const [name] of entries) if (target.searchParams.has(name)) target.searchParams.delete(name)
  // Written out by hand, as a form would have "+" for a blank, which not all servers read.
  const added = entries.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
  target.search = [target.search.slice(1), ...added].filter(part => part !== '').join('&')
  return target
}
