import type {
  CacheConfig,
  CachePolicyConfig,
  CacheToolConfig,
  Call,
  Log,
  Payload,
  Upstream,
  UpstreamCacheConfig,
  UpstreamConfig,
} from '../../src/plugin.ts'
import { BoundedMap, compileGlobs, isObject, LISTS, parseDuration } from '../../src/plugin.ts'
import type { Purge } from './store.ts'
import { parsePurge } from './store.ts'

const MAX_WARNED = 1000

/** Lifetimes of answers, and what tells them apart besides their caller and what was asked. */
export interface Policy {
  readonly ttlMs: number
  readonly staleWhileRevalidateMs: number
  /** Each session has answers of its own. */
  readonly perSession: boolean
  /** Headers of the client's own request, lower case. */
  readonly headers: readonly string[]
  /** The only arguments that matter; undefined means all of them. */
  readonly args: readonly string[] | undefined
  readonly tags: readonly string[]
}

/** Rule for the answers to a call: keep them, or forget others because of them. */
export interface Rule {
  readonly policy: Policy | undefined
  readonly purges: readonly Purge[]
}

/** The rule for each call of one upstream; undefined where it is none of our business. */
export type Rules = (call: Pick<Call, 'method' | 'params'>) => Rule | undefined

type PolicyOptions = string | number | CachePolicyConfig

type ToolOptions = string | number | CacheToolConfig

/** Names of tools whose rule is remembered. */
const MAX_NAMES = 10_000

const LIST_METHODS = Object.values(LISTS).map(list => list.method)

/** Compiles the rules of one upstream: its own before everybody's, the first that matches a tool wins. */
export function rulesOf(name: string, spec: UpstreamConfig, all: CacheConfig): Rules {
  if (spec.cache === false) return () => undefined
  const own: UpstreamCacheConfig = spec.cache ?? {}
  const isIsolated = spec.isolation === 'session'
  // Lists come from a connection that all share, and are kept even when they are never fresh.
  const lists: Rule = { policy: policyOf(own.lists ?? all.lists, false), purges: [] }
  const byMethod = new Map<string, Rule | undefined>(LIST_METHODS.map(method => [method, lists]))
  byMethod.set('resources/read', ruleOf(own.resources ?? all.resources, isIsolated))
  byMethod.set('prompts/get', ruleOf(own.prompts ?? all.prompts, isIsolated))
  const tools = toolRules(name, spec, own, all)
  return call => (call.method === 'tools/call' ? tools(call.params?.name) : byMethod.get(call.method))
}

/** True if any tool has a rule; else all calls can pass untouched. */
export function hasToolRules(spec: UpstreamConfig, all: CacheConfig): boolean {
  return spec.cache !== false && (hasSome(spec.cache?.tools) || hasSome(all.tools))
}

/** True if anything but lists is kept of any upstream. */
export function keepsMore(specs: readonly UpstreamConfig[], all: CacheConfig): boolean {
  const isMore = ({
    resources,
    prompts,
    tools,
  }: Pick<CacheConfig, 'resources' | 'prompts' | 'tools'>): boolean =>
    resources !== undefined || prompts !== undefined || hasSome(tools)
  return isMore(all) || specs.some(({ cache }) => cache !== undefined && cache !== false && isMore(cache))
}

function hasSome(tools: CacheConfig['tools']): boolean {
  return tools !== undefined && Object.keys(tools).length > 0
}

function ruleOf(options: PolicyOptions | undefined, isIsolated: boolean): Rule | undefined {
  const policy = options === undefined ? undefined : policyOf(options, isIsolated)
  return policy === undefined || policy.ttlMs === 0 ? undefined : { policy, purges: [] }
}

function toolRules(
  upstream: string,
  spec: UpstreamConfig,
  own: UpstreamCacheConfig,
  all: CacheConfig,
): (name: unknown) => Rule | undefined {
  const prefix = spec.prefix ?? `${upstream}__`
  const isIsolated = spec.isolation === 'session'
  const named = [
    ...toolTests(own.tools, '', upstream, isIsolated),
    ...toolTests(all.tools, prefix, undefined, isIsolated),
  ]
  const known = new BoundedMap<string, Rule | undefined>({ max: MAX_NAMES })
  return name => {
    if (typeof name !== 'string' || named.length === 0) return undefined
    if (known.has(name)) return known.get(name)
    const rule = named.find(({ matches }) => matches(name))?.rule
    known.set(name, rule)
    return rule
  }
}

function toolTests(
  tools: Readonly<Record<string, ToolOptions>> | undefined,
  prefix: string,
  upstream: string | undefined,
  isIsolated: boolean,
): { matches: (name: string) => boolean; rule: Rule | undefined }[] {
  return Object.entries(tools ?? {}).map(([glob, options]) => {
    const isMeant = compileGlobs(glob)
    return { matches: name => isMeant(prefix + name), rule: toolRule(options, upstream, isIsolated) }
  })
}

function toolRule(options: ToolOptions, upstream: string | undefined, isIsolated: boolean): Rule | undefined {
  if (typeof options !== 'object') return ruleOf(options, isIsolated)
  const { ttl, purges = [], ...rest } = options
  if (purges.length === 0) return ttl === undefined ? undefined : ruleOf({ ...rest, ttl }, isIsolated)
  return { policy: undefined, purges: purges.map(text => parsePurge(text, upstream)) }
}

function policyOf(options: PolicyOptions, isIsolated: boolean): Policy {
  const { ttl, staleWhileRevalidate = 0, vary = [], tags = [] } = fully(options)
  const named = (kind: string): string[] =>
    vary.filter(word => word.startsWith(kind)).map(word => word.slice(kind.length))
  const args = named('argument:')
  return {
    ttlMs: parseDuration(ttl),
    staleWhileRevalidateMs: parseDuration(staleWhileRevalidate),
    perSession: isIsolated || vary.includes('session'),
    headers: named('header:').map(header => header.toLowerCase()),
    args: args.length === 0 ? undefined : args,
    tags,
  }
}

function fully(options: PolicyOptions): Partial<CachePolicyConfig> & { ttl: string | number } {
  return typeof options === 'object' ? options : { ttl: options }
}

/** Says, once for each tool, that the answers of one are kept although its server says that it changes things. */
export function dangerous(log: Log): (upstream: Upstream, rules: Rules, tools: Payload) => void {
  const warned = new Set<string>()
  return ({ name: upstream }, rules, payload) => {
    const { tools } = payload.value()
    for (const tool of Array.isArray(tools) ? (tools as unknown[]) : []) {
      if (!isObject(tool) || !changesThings(tool.annotations)) continue
      const rule = rules({ method: 'tools/call', params: { name: tool.name } })
      const key = JSON.stringify([upstream, tool.name])
      if (rule?.policy === undefined || warned.has(key) || warned.size >= MAX_WARNED) continue
      warned.add(key)
      log.warn(
        `answers of tool "${String(tool.name)}" are kept, but its server says that it changes things`,
        {
          upstream,
          hint: 'take it out of "cache.tools", or be sure that calling it once is as good as calling it again',
        },
      )
    }
  }
}

function changesThings(annotations: unknown): boolean {
  return isObject(annotations) && (annotations.destructiveHint === true || annotations.readOnlyHint === false)
}
