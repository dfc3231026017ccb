import { callers, forbidsUris, globs, isObject, type Config, type Exchange } from '../../src/plugin.ts'

type RouteConfig = NonNullable<Config['routes']>[number]
type Condition = (exchange: Exchange) => boolean
type Key = keyof RouteConfig['match']
/** What is compared as text; a principal is more than its subject. */
type TextKey = Exclude<Key, 'principal'>

/** One rule of `routes`, ready to use. */
export interface Rule {
  readonly matches: Condition
  readonly to: string | undefined
  readonly deny: string | undefined
}

/** What each condition of a rule looks at, and the only methods that can fulfil it. */
const LOOKS_AT: Readonly<
  Record<TextKey, { readonly text: (exchange: Exchange) => unknown; readonly methods?: readonly string[] }>
> = {
  tool: { text: exchange => exchange.params?.name, methods: ['tools/call'] },
  prompt: {
    text: exchange => named(exchange, 'name'),
    methods: ['prompts/get', 'completion/complete'],
  },
  resource: {
    text: exchange => named(exchange, 'uri'),
    methods: ['resources/read', 'resources/subscribe', 'resources/unsubscribe', 'completion/complete'],
  },
  method: { text: exchange => exchange.method },
  client: { text: exchange => exchange.session.client.info.name },
}

/** The rules in their order, with their globs compiled. */
export function prepare(routes: readonly RouteConfig[], auth: Config['auth']): readonly Rule[] {
  return routes.map(({ match, to, deny }) => {
    const conditions = keysOf(match).map(key => condition(key, match[key] ?? [], auth))
    return { matches: exchange => conditions.every(holds => holds(exchange)), to, deny }
  })
}

/** The methods that any rule can match; undefined when that may be any method. */
export function methodsOf(routes: readonly RouteConfig[]): readonly string[] | undefined {
  const methods = new Set<string>()
  for (const { match } of routes) {
    const bound = keysOf(match)
      .map(key => (key === 'method' ? literal(match.method) : methodsFor(key)))
      .find(list => list !== undefined)
    if (bound === undefined) return undefined
    for (const method of bound) methods.add(method)
  }
  return [...methods]
}

function keysOf(match: RouteConfig['match']): Key[] {
  return (Object.keys(match) as Key[]).filter(key => match[key] !== undefined)
}

function methodsFor(key: Key): readonly string[] | undefined {
  return key === 'principal' ? undefined : LOOKS_AT[key].methods
}

function condition(key: Key, patterns: string | readonly string[], auth: Config['auth']): Condition {
  if (key === 'principal') {
    const isMeant = callers(patterns, auth)
    return exchange => isMeant(exchange.session.principal)
  }
  const matches = (key === 'resource' ? forbidsUris : globs)(patterns)
  const { text, methods } = LOOKS_AT[key]
  return exchange => {
    if (methods?.includes(exchange.method) === false) return false
    const found = text(exchange)
    return typeof found === 'string' && matches(found)
  }
}

/** A completion is about what its reference names, whatever else stands beside it. */
function named({ method, params }: Exchange, member: 'name' | 'uri'): unknown {
  const from = method === 'completion/complete' ? params?.ref : params
  return isObject(from) ? from[member] : undefined
}

function literal(patterns: string | readonly string[] | undefined): readonly string[] | undefined {
  const list = typeof patterns === 'string' ? [patterns] : (patterns ?? [])
  return list.some(pattern => /[*?[{\\]/.test(pattern)) ? undefined : list
}
