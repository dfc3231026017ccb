import type { Config, JsonObject } from '../../src/plugin.ts'
import { suggestName, gatewayError, isObject, getErrorMessage, readTexts } from '../../src/plugin.ts'
import { toText } from './call-facts.ts'
import type { Facts, SubjectKind } from './expression-variables.ts'
import { createFacts, FIELDS, parseScheme } from './expression-variables.ts'
import { PolicyJudge, compileRules, RuleIndex } from './policy-judge.ts'

interface CaseResult {
  readonly name: string
  readonly isOk: boolean
  readonly expected: string
  readonly effect: string
  readonly rule?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** Rules that failed. */
  readonly note?: string | undefined
}

const EFFECTS = ['allow', 'ask', 'deny', 'listed', 'hidden']
const LISTING: readonly string[] = ['listed', 'hidden']
const KEYS = [
  ...[
    'name',
    'principal',
    'client',
    'tool',
    'prompt',
    'resource',
    'skill',
    'original',
    'annotations',
    'upstream',
    'session',
  ],
  ...['request', 'pin', 'args', 'method', 'now', 'effect', 'rule', 'scopes'],
]
const SUBJECTS = { tool: 'tools', prompt: 'prompts', skill: 'skills', resource: 'resources' } as const
const METHOD = {
  tools: 'tools/call',
  prompts: 'prompts/get',
  resources: 'resources/read',
  skills: 'skills/get',
} as const

/** Evaluates each case with a configuration's rules. @throws GatewayError GW_USAGE for an invalid case */
export function runCases(input: unknown, config: Config): CaseResult[] {
  const list = Array.isArray(input) ? input : isObject(input) ? input.cases : undefined
  if (!Array.isArray(list) || list.length === 0) throw createUsageError('the file contains no list of cases')
  const { policy } = config
  if (policy === undefined) throw createUsageError('the configuration has no "policy"')
  const rules = new RuleIndex(compileRules(policy).rules)
  return list.map((one: unknown, index) => runCase(one, index, rules, config))
}

function runCase(input: unknown, index: number, rules: RuleIndex, config: Config): CaseResult {
  const label = `case ${index + 1}`
  const spec = checkCase(input, label)
  const failures: string[] = []
  const judge = new PolicyJudge(rules.hasAllow, ({ name }, error) =>
    failures.push(`"${name}" failed: ${(getErrorMessage(error).split('\n')[0] ?? '').slice(0, 80)}`),
  )
  const subject = parseSubject(spec)
  const facts = createCaseFacts(spec, subject, config)
  const scopes = readTexts(spec, 'principal', 'scopes')
  const fitting = rules.findApplicable(subject)
  const outcome: CaseOutcome = LISTING.includes(spec.effect)
    ? {
        effect: judge.shouldList(fitting, { facts: { ...facts, phase: 'list' }, scopes }) ? 'listed' : 'hidden',
      }
    : judge.judgeCall(fitting, { facts, scopes })
  return {
    name: typeof spec.name === 'string' ? spec.name : `${label}: ${subject.name}`,
    isOk: isExpected(spec, outcome),
    expected: [spec.effect, ...(spec.rule === undefined ? [] : [`by ${String(spec.rule)}`])].join(' '),
    ...outcome,
    note: failures.length === 0 ? undefined : failures.join('; '),
  }
}

interface CaseOutcome {
  readonly effect: string
  readonly rule?: string | undefined
  readonly scopes?: readonly string[]
}

function isExpected(expected: JsonObject, { effect, rule, scopes = [] }: CaseOutcome): boolean {
  if (effect !== expected.effect) return false
  if (expected.rule !== undefined && expected.rule !== rule) return false
  return expected.scopes === undefined || JSON.stringify(expected.scopes) === JSON.stringify(scopes)
}

function checkCase(input: unknown, label: string): JsonObject & { readonly effect: string } {
  if (!isObject(input)) throw createUsageError(`${label} is not a map`)
  const odd = Object.keys(input).find(key => !KEYS.includes(key))
  if (odd !== undefined) throw createUsageError(`${label} has an unknown key "${odd}"`, suggestName(odd, KEYS))
  const { effect, principal, client, session, request } = input
  if (typeof effect !== 'string' || !EFFECTS.includes(effect))
    throw createUsageError(`${label}: "effect" must be one of ${EFFECTS.join(', ')}`)
  for (const [name, value] of Object.entries({ principal, client, session, request }))
    checkFields(value, name as keyof typeof FIELDS, label)
  return { ...input, effect }
}

function checkFields(value: unknown, name: keyof typeof FIELDS, label: string): void {
  if (value === undefined) return
  if (!isObject(value)) throw createUsageError(`${label}: "${name}" is not a map`)
  const allowedKeys = Object.keys(FIELDS[name])
  const odd = Object.keys(value).find(key => !allowedKeys.includes(key))
  if (odd !== undefined)
    throw createUsageError(`${label}: unknown key "${odd}" in ${name}`, suggestName(odd, allowedKeys))
}

function parseSubject(spec: JsonObject): { kind: SubjectKind | undefined; name: string } {
  for (const [key, kind] of Object.entries(SUBJECTS))
    if (typeof spec[key] === 'string') return { kind, name: spec[key] }
  return { kind: undefined, name: String(spec.method ?? '') }
}

function createCaseFacts(
  spec: JsonObject,
  subject: { readonly kind: SubjectKind | undefined; readonly name: string },
  config: Config,
): Facts {
  const { kind, name } = subject
  const upstream = toText(spec.upstream) || findUpstream(name, config)
  const original = toText(spec.original) || stripPrefix(name, upstream, config)
  const { calls = 0, ...session } = toObject(spec.session)
  return {
    ...createSubjectFacts(spec, subject, original),
    principal: createPrincipalFacts(toObject(spec.principal)),
    client: createFacts('client', { era: 'modern', via: 'http', listener: 'main', ...toObject(spec.client) }),
    upstream: createUpstreamFacts(upstream, config),
    session: createFacts('session', { ...session, calls: BigInt(Number(calls)) }),
    request: createFacts('request', toObject(spec.request)),
    pin: createFacts('pin', { status: spec.pin ?? 'unknown' }),
    args: toObject(spec.args),
    method: toText(spec.method) || (kind === undefined ? '' : METHOD[kind]),
    phase: 'call',
    now: parseTime(spec.now ?? new Date()),
  }
}

function createSubjectFacts(
  { annotations, resource }: JsonObject,
  { kind, name }: { readonly kind: SubjectKind | undefined; readonly name: string },
  original: string,
): Facts {
  const uri = toText(resource)
  const own = kind === 'skills' ? uri : original
  return {
    tool: createFacts('tool', kind === 'tools' ? { name, original, annotations: toObject(annotations) } : {}),
    prompt: createFacts('prompt', kind === 'prompts' ? { name, original } : {}),
    skill: createFacts('skill', kind === 'skills' ? { name, original } : {}),
    resource: createFacts('resource', { uri, original: uri === '' ? '' : own, scheme: parseScheme(uri) }),
  }
}

function createUpstreamFacts(name: string, { upstreams }: Config): object {
  const { tags = [], trusted = false } = upstreams[name] ?? {}
  return createFacts('upstream', { name, tags, trusted })
}

function createPrincipalFacts(principal: JsonObject): object {
  const { key, subject = key ?? 'anonymous' } = principal
  return createFacts('principal', { authenticated: subject !== 'anonymous', ...principal, subject })
}

function stripPrefix(name: string, upstream: string, { upstreams }: Config): string {
  const prefix = upstreams[upstream]?.prefix ?? `${upstream}__`
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}

/** Finds the upstream with the longest matching prefix, as routing does. */
function findUpstream(name: string, { upstreams }: Config): string {
  const prefixes = Object.entries(upstreams).map(([own, { prefix = `${own}__` }]) => ({ own, prefix }))
  const fitting = prefixes.filter(({ prefix }) => prefix !== '' && name.startsWith(prefix))
  const [longest] = fitting.sort((a, b) => b.prefix.length - a.prefix.length)
  return longest?.own ?? (prefixes.length === 1 ? (prefixes[0]?.own ?? '') : '')
}

function toObject(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function parseTime(value: unknown): Date {
  const time = new Date(typeof value === 'string' || typeof value === 'number' || value instanceof Date ? value : NaN)
  if (Number.isNaN(time.getTime())) throw createUsageError(`invalid time "${String(value)}"`)
  return time
}

function createUsageError(problem: string, hint?: string): Error {
  return gatewayError('GW_USAGE', { what: hint === undefined ? problem : `${problem} – ${hint}` })
}
