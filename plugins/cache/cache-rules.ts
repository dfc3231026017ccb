import type { Call, Config, UpstreamConfig } from '../../src/plugin.ts'
import { BoundedMap, compileGlobs, parseDuration } from '../../src/plugin.ts'
import type { Purge } from './cache-store.ts'
import { LIST_METHODS, parsePurge } from './cache-store.ts'

/** Lifetimes and additional key parts. */
export interface CachePolicy {
  readonly ttlMs: number
  readonly staleWhileRevalidateMs: number
  /** True to separate answers by session. */
  readonly perSession: boolean
  /** Client request headers in the key, lower case. */
  readonly headers: readonly string[]
  /** Arguments in the key; undefined means all. */
  readonly args: readonly string[] | undefined
}

/** Rule for a call: cache the answer, or purge others. */
export interface CacheRule {
  readonly policy: CachePolicy | undefined
  readonly purges: readonly Purge[]
}

/** Returns the rule for a call; undefined for uncached methods. */
export type CacheRules = (call: Pick<Call, 'method' | 'params'>) => CacheRule | undefined

type GlobalOptions = Exclude<Config['cache'], false | undefined>
type UpstreamOptions = Exclude<UpstreamConfig['cache'], false | undefined>
type PolicyOptions = GlobalOptions['lists']

type ToolOptions = NonNullable<GlobalOptions['tools']>[string]

/** Maximum tool names in the rule cache. */
const MAX_NAMES = 10_000

/** Compiles an upstream's rules. Its own precede the global ones, and the first match wins. */
export function compileRules(name: string, spec: UpstreamConfig, all: GlobalOptions): CacheRules {
  if (spec.cache === false) return () => undefined
  const own: UpstreamOptions = spec.cache ?? {}
  const isIsolated = spec.isolation === 'session'
  // Lists use the shared connection and are stored even with a zero lifetime.
  const lists: CacheRule = { policy: parsePolicy(own.lists ?? all.lists, false), purges: [] }
  const byMethod = new Map<string, CacheRule | undefined>()
  for (const method of LIST_METHODS) byMethod.set(method, lists)
  byMethod.set('resources/read', parseRule(own.resources ?? all.resources, isIsolated))
  byMethod.set('prompts/get', parseRule(own.prompts ?? all.prompts, isIsolated))
  const tools = compileToolRules(name, spec, own, all)
  return call => (call.method === 'tools/call' ? tools(call.params?.name) : byMethod.get(call.method))
}

/** True if any tool has a rule; otherwise tool calls bypass the cache. */
export function hasToolRules(spec: UpstreamConfig, all: GlobalOptions): boolean {
  return spec.cache !== false && Object.keys({ ...spec.cache?.tools, ...all.tools }).length > 0
}

function parseRule(options: PolicyOptions | undefined, isIsolated: boolean): CacheRule | undefined {
  const policy = options === undefined ? undefined : parsePolicy(options, isIsolated)
  return policy === undefined || policy.ttlMs === 0 ? undefined : { policy, purges: [] }
}

function compileToolRules(
  upstream: string,
  spec: UpstreamConfig,
  own: UpstreamOptions,
  all: GlobalOptions,
): (name: unknown) => CacheRule | undefined {
  const prefix = spec.prefix ?? `${upstream}__`
  const isIsolated = spec.isolation === 'session'
  const named = [
    ...compileToolTests(own.tools, '', upstream, isIsolated),
    ...compileToolTests(all.tools, prefix, undefined, isIsolated),
  ]
  const cachedRules = new BoundedMap<string, CacheRule | undefined>({ max: MAX_NAMES })
  return name => {
    if (typeof name !== 'string' || named.length === 0) return undefined
    if (cachedRules.has(name)) return cachedRules.get(name)
    const rule = named.find(({ matches }) => matches(name))?.rule
    cachedRules.set(name, rule)
    return rule
  }
}

function compileToolTests(
  tools: Readonly<Record<string, ToolOptions>> | undefined,
  prefix: string,
  upstream: string | undefined,
  isIsolated: boolean,
): { matches: (name: string) => boolean; rule: CacheRule | undefined }[] {
  return Object.entries(tools ?? {}).map(([glob, options]) => {
    const isMeant = compileGlobs(glob)
    return { matches: name => isMeant(prefix + name), rule: parseToolRule(options, upstream, isIsolated) }
  })
}

function parseToolRule(options: ToolOptions, upstream: string | undefined, isIsolated: boolean): CacheRule | undefined {
  if (typeof options !== 'object') return parseRule(options, isIsolated)
  const { ttl, purges = [], ...rest } = options
  if (purges.length === 0) return ttl === undefined ? undefined : parseRule({ ...rest, ttl }, isIsolated)
  return { policy: undefined, purges: purges.map(text => parsePurge(text, upstream)) }
}

function parsePolicy(options: PolicyOptions, isIsolated: boolean): CachePolicy {
  const { ttl, staleWhileRevalidate = 0, vary = [] } = typeof options === 'object' ? options : { ttl: options }
  const selectNames = (kind: string): string[] =>
    vary.filter(word => word.startsWith(kind)).map(word => word.slice(kind.length))
  const args = selectNames('argument:')
  return {
    ttlMs: parseDuration(ttl),
    staleWhileRevalidateMs: parseDuration(staleWhileRevalidate),
    perSession: isIsolated || vary.includes('session'),
    headers: selectNames('header:').map(header => header.toLowerCase()),
    args: args.length === 0 ? undefined : args,
  }
}
