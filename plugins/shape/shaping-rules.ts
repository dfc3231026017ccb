import type { Config, PluginApi } from '../../src/plugin.ts'
import { estimateBytes, compileGlobs, parseDuration } from '../../src/plugin.ts'
import type { CompiledPick } from './pick-expression.ts'
import { compilePick, parseDropPath } from './pick-expression.ts'

export type ShapeConfig = NonNullable<Config['shape']>
/** Keys shared by tools, profiles, upstreams and the section. */
type ShapeRule = NonNullable<NonNullable<ShapeConfig['tools']>[string]>

/** Resolved settings for one tool. */
export interface ShapingRule {
  readonly pick: CompiledPick | undefined
  readonly drop: readonly Exclude<ReturnType<typeof parseDropPath>, string>[]
  /** Maximum result bytes; undefined for no limit. */
  readonly maxBytes: number | undefined
  readonly ask: boolean
  readonly patienceMs: number | undefined
  /** Keys that use known client limits. */
  readonly asClient: readonly ('maxTokens' | 'patience')[]
  /** Configuration key of each setting, for explanations. */
  readonly from: readonly string[]
}

/** Value for "use the client's limit". */
const CLIENT_VALUE = 'client'
/** Share of the client's timeout; the remainder covers transfer. */
const CLIENT_PATIENCE_SHARE = 0.9
/** Maximum cached rules, because servers choose tool names. */
const MAX_CACHED_RULES = 10_000

interface RuleSource {
  readonly configKey: string
  readonly rule: ShapeRule
}

/** Resolves the rule for a tool. Precedence: tool, profile, upstream, section. */
export class ShapingRules {
  readonly #config: Config
  readonly #tools: readonly { readonly fits: (name: string) => boolean; readonly source: RuleSource }[]
  readonly #rulesByName = new Map<string, ShapingRule | undefined>()
  readonly #compiled = new Map<string, CompiledPick>()

  constructor(config: Config) {
    this.#config = config
    this.#tools = Object.entries(config.shape?.tools ?? {}).map(([glob, rule]) => ({
      fits: compileGlobs([glob]),
      source: { configKey: `shape.tools.${glob}`, rule },
    }))
  }

  /** True if any rule sets this key. */
  hasKey(key: keyof ShapeRule): boolean {
    const { shape, upstreams, profiles = {} } = this.#config
    const all = [
      shape,
      ...Object.values(shape?.tools ?? {}),
      ...listShapeConfigs(upstreams),
      ...listShapeConfigs(profiles),
    ]
    return all.some(rule => rule?.[key] !== undefined && rule[key] !== false)
  }

  /** Returns the rule for a tool, by exposed name; undefined if none applies. */
  findRule(name: string, upstream: string, profile: string | undefined): ShapingRule | undefined {
    const key = `${profile ?? ''} ${upstream} ${name}`
    if (this.#rulesByName.has(key)) return this.#rulesByName.get(key)
    const rule = this.#resolveRule(name, upstream, profile)
    if (this.#rulesByName.size >= MAX_CACHED_RULES) this.#rulesByName.clear()
    this.#rulesByName.set(key, rule)
    return rule
  }

  #resolveRule(name: string, upstream: string, profile: string | undefined): ShapingRule | undefined {
    const sources = [...this.#sources(name, upstream, profile)]
    const nearest = <K extends keyof ShapeRule>(key: K): ShapeRule[K] | undefined =>
      sources.find(({ rule }) => rule[key] !== undefined)?.rule[key]
    const [pick, drop, maxTokens, ask, patience] = [
      nearest('pick'),
      nearest('drop'),
      nearest('maxTokens'),
      nearest('ask'),
      nearest('patience'),
    ]
    const isEmpty = [pick, drop, maxTokens, patience].every(value => value === undefined) && ask !== true
    if (isEmpty) return undefined
    const patienceMs = patience === undefined ? 0 : parsePatience(patience)
    return {
      pick: pick === undefined ? undefined : this.#getPick(pick),
      drop: (drop ?? []).map(parseDropPath).filter(path => typeof path !== 'string'),
      maxBytes: typeof maxTokens === 'number' ? estimateBytes(maxTokens) : undefined,
      ask: ask === true,
      patienceMs: patienceMs === 0 ? undefined : patienceMs,
      asClient: listClientKeys({ maxTokens, patience }),
      from: sources.map(({ configKey }) => configKey),
    }
  }

  #getPick(text: string): CompiledPick | undefined {
    const cached = this.#compiled.get(text)
    if (cached !== undefined) return cached
    const compiled = compilePick(text)
    if ('pick' in compiled) this.#compiled.set(text, compiled.pick)
    return 'pick' in compiled ? compiled.pick : undefined
  }

  *#sources(name: string, upstream: string, profile: string | undefined): Iterable<RuleSource> {
    const { shape, upstreams, profiles } = this.#config
    const tool = this.#tools.find(({ fits }) => fits(name))
    if (tool !== undefined) yield tool.source
    const ofProfile = profile === undefined ? undefined : profiles?.[profile]?.shape
    if (ofProfile !== undefined) yield { configKey: `profiles.${String(profile)}.shape`, rule: ofProfile }
    const ofUpstream = upstreams[upstream]?.shape
    if (ofUpstream !== undefined) yield { configKey: `upstreams.${upstream}.shape`, rule: ofUpstream }
    if (shape !== undefined) yield { configKey: 'shape', rule: shape }
  }
}

function parsePatience(patience: string | number): number {
  return patience === CLIENT_VALUE ? 0 : parseDuration(patience)
}

function listClientKeys({ maxTokens, patience }: ShapeRule): ShapingRule['asClient'] {
  const both = [maxTokens === CLIENT_VALUE && 'maxTokens', patience === CLIENT_VALUE && 'patience'] as const
  return both.filter(key => key !== false)
}

/** Fills in the client's limits. */
export function applyClientFacts(
  rule: ShapingRule,
  getClientLimits: () => ReturnType<PluginApi['getClientLimits']>,
): ShapingRule {
  if (rule.asClient.length === 0) return rule
  const { timeoutMs, maxResultTokens } = getClientLimits()
  const isPatient = timeoutMs !== undefined && rule.asClient.includes('patience')
  const isBounded = maxResultTokens !== undefined && rule.asClient.includes('maxTokens')
  return {
    ...rule,
    ...(isPatient ? { patienceMs: Math.floor(timeoutMs * CLIENT_PATIENCE_SHARE) } : {}),
    ...(isBounded ? { maxBytes: estimateBytes(maxResultTokens) } : {}),
  }
}

function listShapeConfigs(specs: Readonly<Record<string, { readonly shape?: ShapeRule | undefined }>>) {
  return Object.values(specs).map(({ shape }) => shape)
}
