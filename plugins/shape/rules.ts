import type { ClientLimits, Config } from '../../src/plugin.ts'
import { estimateBytes, compileGlobs, parseDuration } from '../../src/plugin.ts'
import type { Pick } from './pick.ts'
import { compilePick, readPath } from './pick.ts'

export type ShapeConfig = NonNullable<Config['shape']>
/** Keys that a tool, a profile, an upstream and the section have alike. */
type ShapeRule = NonNullable<NonNullable<ShapeConfig['tools']>[string]>

/** All that holds for the results of one tool, ready for use. */
export interface Rule {
  readonly pick: Pick | undefined
  readonly drop: readonly Exclude<ReturnType<typeof readPath>, string>[]
  /** Most bytes of a result; undefined for any number. */
  readonly maxBytes: number | undefined
  readonly ask: boolean
  readonly patienceMs: number | undefined
  /** Keys that are left to what is known of the client. */
  readonly asClient: readonly ('maxTokens' | 'patience')[]
  /** Place of each setting in the configuration, for people. */
  readonly from: readonly string[]
}

/** Value of a key that is left to what is known of the client. */
const CLIENT = 'client'
/** Part of a client's patience after which it is answered: the rest is for the way. */
const OF_CLIENT = 0.9
/** Most rules that are remembered: names of tools are those of servers. */
const MAX_REMEMBERED = 10_000

interface Source {
  readonly place: string
  readonly rule: ShapeRule
}

/** Finds the rule of a tool. For each key the nearest place counts: the tool, the profile, the upstream, the section. */
export class Rules {
  readonly #config: Config
  readonly #tools: readonly { readonly fits: (name: string) => boolean; readonly source: Source }[]
  readonly #found = new Map<string, Rule | undefined>()
  readonly #compiled = new Map<string, Pick>()

  constructor(config: Config) {
    this.#config = config
    this.#tools = Object.entries(config.shape?.tools ?? {}).map(([glob, rule]) => ({
      fits: compileGlobs([glob]),
      source: { place: `shape.tools.${glob}`, rule },
    }))
  }

  /** Tells whether any rule, wherever it stands, has this key. */
  has(key: keyof ShapeRule): boolean {
    const { shape, upstreams, profiles = {} } = this.#config
    const all = [shape, ...Object.values(shape?.tools ?? {}), ...shapesOf(upstreams), ...shapesOf(profiles)]
    return all.some(rule => rule?.[key] !== undefined && rule[key] !== false)
  }

  /** The rule for a tool, by the name that clients know; undefined where none holds. */
  for(name: string, upstream: string, profile: string | undefined): Rule | undefined {
    const key = `${profile ?? ''} ${upstream} ${name}`
    if (this.#found.has(key)) return this.#found.get(key)
    const rule = this.#make(name, upstream, profile)
    if (this.#found.size >= MAX_REMEMBERED) this.#found.clear()
    this.#found.set(key, rule)
    return rule
  }

  #make(name: string, upstream: string, profile: string | undefined): Rule | undefined {
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
    const patienceMs = patience === undefined ? 0 : msOf(patience)
    return {
      pick: pick === undefined ? undefined : this.#pickOf(pick),
      drop: (drop ?? []).map(readPath).filter(path => typeof path !== 'string'),
      maxBytes: typeof maxTokens === 'number' ? estimateBytes(maxTokens) : undefined,
      ask: ask === true,
      patienceMs: patienceMs === 0 ? undefined : patienceMs,
      asClient: leftToClient({ maxTokens, patience }),
      from: sources.map(({ place }) => place),
    }
  }

  #pickOf(text: string): Pick | undefined {
    const known = this.#compiled.get(text)
    if (known !== undefined) return known
    const compiled = compilePick(text)
    if ('pick' in compiled) this.#compiled.set(text, compiled.pick)
    return 'pick' in compiled ? compiled.pick : undefined
  }

  *#sources(name: string, upstream: string, profile: string | undefined): Iterable<Source> {
    const { shape, upstreams, profiles } = this.#config
    const tool = this.#tools.find(({ fits }) => fits(name))
    if (tool !== undefined) yield tool.source
    const ofProfile = profile === undefined ? undefined : profiles?.[profile]?.shape
    if (ofProfile !== undefined) yield { place: `profiles.${String(profile)}.shape`, rule: ofProfile }
    const ofUpstream = upstreams[upstream]?.shape
    if (ofUpstream !== undefined) yield { place: `upstreams.${upstream}.shape`, rule: ofUpstream }
    if (shape !== undefined) yield { place: 'shape', rule: shape }
  }
}

function msOf(patience: string | number): number {
  return patience === CLIENT ? 0 : parseDuration(patience)
}

function leftToClient({ maxTokens, patience }: ShapeRule): Rule['asClient'] {
  const both = [maxTokens === CLIENT && 'maxTokens', patience === CLIENT && 'patience'] as const
  return both.filter(key => key !== false)
}

/** The rule with the figures of one client where it leaves them to it. */
export function ruleOfClient(rule: Rule, known: () => ClientLimits): Rule {
  if (rule.asClient.length === 0) return rule
  const { timeoutMs, maxResultTokens } = known()
  const isPatient = timeoutMs !== undefined && rule.asClient.includes('patience')
  const isBounded = maxResultTokens !== undefined && rule.asClient.includes('maxTokens')
  return {
    ...rule,
    ...(isPatient ? { patienceMs: Math.floor(timeoutMs * OF_CLIENT) } : {}),
    ...(isBounded ? { maxBytes: estimateBytes(maxResultTokens) } : {}),
  }
}

function shapesOf(specs: Readonly<Record<string, { readonly shape?: ShapeRule | undefined }>>) {
  return Object.values(specs).map(({ shape }) => shape)
}
