import { createRequire } from 'node:module'
import { createContext, Script } from 'node:vm'
import type { Config, PluginApi } from '../../src/plugin.ts'
import {
  estimateBytes,
  compileGlobs,
  parseDuration,
  defineErrors,
  isObject,
  getErrorMessage,
  RPC,
} from '../../src/plugin.ts'

export const ERRORS = {
  GW_SHAPE_PICK: {
    text: '"_pick" is not a valid JMESPath expression: {why}',
    hint: 'Example: `items[].{title: title, url: url}`; see https://jmespath.org. The tool was not called.',
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

export const shapeError = defineErrors(ERRORS)

/** Path step: a named member, every member, or every list item. */
type PathStep = { readonly member: string } | 'members' | 'items'

const MAX_STEPS = 32

/** Parses a path such as `items[].meta.*.html`; returns a message for an invalid one. */
export function parseDropPath(text: string): readonly PathStep[] | string {
  const steps: PathStep[] = []
  let unparsed = text
  while (unparsed !== '') {
    const dot = steps.length > 0 && !unparsed.startsWith('[]')
    const match = (dot ? /^\.("(?:[^"\\]|\\.)+"|[^.[\]"]+)/ : /^(\[\]|"(?:[^"\\]|\\.)+"|[^.[\]"]+)/).exec(unparsed)
    const [all, name] = match ?? []
    if (all === undefined || name === undefined) return `"${unparsed.slice(0, 32)}" is not a path step`
    steps.push(parseStep(name))
    unparsed = unparsed.slice(all.length)
  }
  if (steps.at(-1) === 'items') return 'ends with "[]" and would remove everything: use the name of the list'
  return steps.length > MAX_STEPS ? `more than ${MAX_STEPS} steps` : steps
}

function parseStep(name: string): PathStep {
  if (name === '[]') return 'items'
  if (name === '*') return 'members'
  return { member: name.startsWith('"') ? unquoteName(name) : name }
}

function unquoteName(name: string): string {
  return name.slice(1, -1).replace(/\\(.)/g, '$1')
}

/** Returns a copy of the value without a path. */
export function removePath(value: unknown, [step, ...rest]: readonly PathStep[]): unknown {
  if (step === undefined) return value
  if (step === 'items') return Array.isArray(value) ? value.map(item => removePath(item, rest)) : value
  if (!isObject(value)) return value
  const isMeant = (name: string): boolean => step === 'members' || name === step.member
  const entries = Object.entries(value)
  return Object.fromEntries(
    rest.length === 0
      ? entries.filter(([name]) => !isMeant(name))
      : entries.map(([name, inner]) => [name, isMeant(name) ? removePath(inner, rest) : inner]),
  )
}

/** Parts used from the package. */
interface JmesPath {
  compile(expression: string): unknown
  search(data: unknown, expression: string): unknown
}

/** Maximum length for a caller's expression; configured ones may be longer. */
export const MAX_PICK_LENGTH = 1024
/** Maximum configured expression length. */
const MAX_EXPRESSION_LENGTH = 4096
/** Maximum evaluation time in milliseconds. */
const MAX_EVALUATION_MS = 250
const MAX_RESULT_LENGTH = 32 * 1024 * 1024

/** Result as JSON, or a failure. */
type PickResult = { readonly json: string; readonly failed?: undefined } | { readonly failed: string }

export interface CompiledPick {
  readonly text: string
  run(value: unknown): PickResult
}

const load = createRequire(import.meta.url)
let jmespath: JmesPath | undefined
/** Created once; `run` is set before each use. */
let sandbox: { readonly context: { run: () => unknown }; readonly script: Script } | undefined

/** Compiles an expression. Loads the package on first use. */
export function compilePick(
  text: string,
  longest = MAX_EXPRESSION_LENGTH,
): { readonly pick: CompiledPick } | { readonly mistake: string } {
  if (text.length > longest) return { mistake: `${text.length} characters, maximum ${longest}` }
  jmespath ??= load('jmespath') as JmesPath
  const { search } = jmespath
  try {
    jmespath.compile(text)
  } catch (error) {
    return { mistake: error instanceof RangeError ? 'nested too deeply' : getErrorMessage(error) }
  }
  return {
    pick: { text, run: value => runWithTimeout(() => JSON.stringify(search(value, text))) },
  }
}

/** Runs work with a time limit, because an expression can expand its input. */
function runWithTimeout(work: () => string | undefined): PickResult {
  const { context, script } = (sandbox ??= createSandbox())
  context.run = work
  try {
    const json = (script.runInContext(context, { timeout: MAX_EVALUATION_MS }) as string | undefined) ?? 'null'
    return json.length > MAX_RESULT_LENGTH ? { failed: 'result too large' } : { json }
  } catch (error) {
    return { failed: describeFailure(error) }
  } finally {
    context.run = () => undefined
  }
}

function createSandbox(): NonNullable<typeof sandbox> {
  return {
    context: createContext({ run: () => undefined }) as { run: () => unknown },
    script: new Script('run()'),
  }
}

function describeFailure(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return `timed out after ${MAX_EVALUATION_MS} ms`
  return error instanceof RangeError ? 'result nested too deeply or too long' : getErrorMessage(error)
}

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
