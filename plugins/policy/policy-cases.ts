import type { Config, JsonObject } from '../../src/plugin.ts'
import { suggestName, gatewayError, isObject, getErrorMessage } from '../../src/plugin.ts'
import type { Facts, SubjectKind } from './expression-variables.ts'
import {
  ClientFacts,
  FIELDS,
  PinFacts,
  PrincipalFacts,
  PromptFacts,
  RequestFacts,
  ResourceFacts,
  SessionFacts,
  ToolFacts,
  UpstreamFacts,
} from './expression-variables.ts'
import { PolicyJudge } from './policy-judge.ts'
import { compileRules, RuleIndex } from './rules.ts'

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
  'name',
  'principal',
  'client',
  'tool',
  'prompt',
  'resource',
  'original',
  'annotations',
  'upstream',
  'session',
  'request',
  'pin',
  'args',
  'method',
  'now',
  'effect',
  'rule',
  'scopes',
]
const SUBJECTS = { tool: 'tools', prompt: 'prompts', resource: 'resources' } as const
const METHOD = { tools: 'tools/call', prompts: 'prompts/get', resources: 'resources/read' } as const

/** Evaluates each case with a configuration's rules. @throws GatewayError GW_USAGE for an invalid case */
export function runCases(given: unknown, config: Config): CaseResult[] {
  const list = Array.isArray(given) ? given : isObject(given) ? given.cases : undefined
  if (!Array.isArray(list) || list.length === 0) throw createUsageError('the file contains no list of cases')
  const { policy } = config
  if (policy === undefined) throw createUsageError('the configuration has no "policy"')
  const rules = new RuleIndex(compileRules(policy).rules)
  return list.map((one: unknown, index) => runCase(one, index, rules, config))
}

function runCase(given: unknown, index: number, rules: RuleIndex, config: Config): CaseResult {
  const place = `case ${index + 1}`
  const spec = checkCase(given, place)
  const failures: string[] = []
  const judge = new PolicyJudge(rules.hasAllow, ({ name }, error) =>
    failures.push(`"${name}" failed: ${(getErrorMessage(error).split('\n')[0] ?? '').slice(0, 80)}`),
  )
  const subject = parseSubject(spec)
  const facts = createFacts(spec, subject, config)
  const scopes = facts.principal instanceof PrincipalFacts ? facts.principal.scopes : []
  const fitting = rules.findApplicable(subject)
  const outcome: CaseOutcome = LISTING.includes(spec.effect)
    ? {
        effect: judge.shouldList(fitting, { facts: { ...facts, phase: 'list' }, scopes }) ? 'listed' : 'hidden',
      }
    : judge.judgeCall(fitting, { facts, scopes })
  return {
    name: typeof spec.name === 'string' ? spec.name : `${place}: ${subject.name}`,
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

function isExpected(wanted: JsonObject, { effect, rule, scopes = [] }: CaseOutcome): boolean {
  if (effect !== wanted.effect) return false
  if (wanted.rule !== undefined && wanted.rule !== rule) return false
  return wanted.scopes === undefined || JSON.stringify(wanted.scopes) === JSON.stringify(scopes)
}

function checkCase(given: unknown, place: string): JsonObject & { readonly effect: string } {
  if (!isObject(given)) throw createUsageError(`${place} is not a map`)
  const odd = Object.keys(given).find(key => !KEYS.includes(key))
  if (odd !== undefined) throw createUsageError(`${place} has an unknown key "${odd}"`, suggestName(odd, KEYS))
  const { effect, principal, client, session, request } = given
  if (typeof effect !== 'string' || !EFFECTS.includes(effect))
    throw createUsageError(`${place}: "effect" must be one of ${EFFECTS.join(', ')}`)
  for (const [name, value] of Object.entries({ principal, client, session, request }))
    checkFields(value, name as keyof typeof FIELDS, place)
  return { ...given, effect }
}

function checkFields(value: unknown, name: keyof typeof FIELDS, place: string): void {
  if (value === undefined) return
  if (!isObject(value)) throw createUsageError(`${place}: "${name}" is not a map`)
  const known = Object.keys(FIELDS[name])
  const odd = Object.keys(value).find(key => !known.includes(key))
  if (odd !== undefined) throw createUsageError(`${place}: unknown key "${odd}" in ${name}`, suggestName(odd, known))
}

function parseSubject(spec: JsonObject): { kind: SubjectKind | undefined; name: string } {
  for (const [key, kind] of Object.entries(SUBJECTS))
    if (typeof spec[key] === 'string') return { kind, name: spec[key] }
  return { kind: undefined, name: String(spec.method ?? '') }
}

function createFacts(
  spec: JsonObject,
  subject: { readonly kind: SubjectKind | undefined; readonly name: string },
  config: Config,
): Facts {
  const { kind, name } = subject
  const upstream = toText(spec.upstream) || findUpstream(name, config)
  const { tags, trusted } = config.upstreams[upstream] ?? {}
  const { calls = 0, id, label } = toObject(spec.session)
  const { headers, trace, remote } = toObject(spec.request)
  return {
    ...createSubjectFacts(spec, subject, toText(spec.original) || stripPrefix(name, upstream, config)),
    principal: parsePrincipal(toObject(spec.principal)),
    client: parseClient(toObject(spec.client)),
    upstream: new UpstreamFacts(upstream, tags, trusted),
    session: new SessionFacts(toText(id), toText(label), Number(calls)),
    request: new RequestFacts(toObject(headers), toText(trace), toText(remote)),
    pin: new PinFacts(typeof spec.pin === 'string' ? spec.pin : undefined),
    args: toObject(spec.args),
    method: toText(spec.method) || (kind === undefined ? '' : METHOD[kind]),
    phase: 'call',
    now: spec.now === undefined ? new Date() : parseTime(spec.now),
  }
}

function createSubjectFacts(
  spec: JsonObject,
  { kind, name }: { readonly kind: SubjectKind | undefined; readonly name: string },
  original: string,
): Facts {
  return {
    tool: kind === 'tools' ? new ToolFacts(name, original, toObject(spec.annotations)) : new ToolFacts(),
    prompt: kind === 'prompts' ? new PromptFacts(name, original) : new PromptFacts(),
    resource: kind === 'resources' ? new ResourceFacts(name, original) : new ResourceFacts(),
  }
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

function parsePrincipal(given: JsonObject): PrincipalFacts {
  const subject = toText(given.key) || toText(given.subject) || 'anonymous'
  const isKnown = given.subject !== undefined || given.key !== undefined
  return new PrincipalFacts({
    authenticated: typeof given.authenticated === 'boolean' ? given.authenticated : isKnown,
    issuer: toText(given.issuer),
    subject,
    client: toText(given.client),
    scopes: toTexts(given.scopes),
    groups: toTexts(given.groups),
    claims: toObject(given.claims),
    key: toText(given.key),
  })
}

function parseClient({ name, version, era, via, listener }: JsonObject): ClientFacts {
  return new ClientFacts({
    name: toText(name),
    version: toText(version),
    era: toText(era) || 'modern',
    via: toText(via) || 'http',
    listener: toText(listener) || 'main',
  })
}

function toObject(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function toTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(one => typeof one === 'string') : []
}

function parseTime(value: unknown): Date {
  const time = new Date(typeof value === 'string' || typeof value === 'number' || value instanceof Date ? value : NaN)
  if (Number.isNaN(time.getTime())) throw createUsageError(`invalid time "${String(value)}"`)
  return time
}

function createUsageError(what: string, hint?: string): Error {
  return gatewayError('GW_USAGE', { what: hint === undefined ? what : `${what} – ${hint}` })
}
