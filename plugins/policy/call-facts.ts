import type { Call, CatalogEntry, Config, Exchange, JsonObject, Principal, Slot, Session } from '../../src/plugin.ts'
import { EXTENSION_METHODS, getCredentialType, isObject, METHODS } from '../../src/plugin.ts'
import { parseAppUri, parseSkillUri, readText } from '../../src/plugin.ts'
import type { Facts, SubjectKind, Variable } from './expression-variables.ts'
import { createFacts, parseScheme } from './expression-variables.ts'
import type { RuleSubject } from './policy-judge.ts'

/** Call subject with its catalog entry. */
export interface CalledSubject extends RuleSubject {
  readonly original: string
  readonly entry: CatalogEntry | undefined
  /** Undefined while the skill's manifest is unknown. */
  readonly skill?: string | undefined
}

const KINDS = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resources',
  skills: 'skills',
} as const satisfies Record<CatalogEntry['kind'], SubjectKind>

const NO_TOOL = createFacts('tool', {})
const NO_PROMPT = createFacts('prompt', {})
const NO_RESOURCE = createFacts('resource', {})
const NO_SKILL = createFacts('skill', {})

/** Builds the values that rules read, for a call or a list entry. */
export class FactsBuilder {
  readonly #upstreams: ReadonlyMap<string, object>
  readonly #principals = new WeakMap<Principal, object>()
  readonly #tools = new WeakMap<CatalogEntry, { readonly name: string; readonly facts: object }>()
  readonly #headers: readonly string[]
  readonly #calls: Slot<Session, { count: number }>

  /** `headers`: those that expressions may read; `calls`: counter per session. */
  constructor(config: Config, headers: readonly string[], calls: Slot<Session, { count: number }>) {
    this.#upstreams = new Map(
      Object.entries(config.upstreams).map(([name, { tags = [], trusted = false }]) => [
        name,
        createFacts('upstream', { name, tags, trusted }),
      ]),
    )
    this.#headers = headers.map(name => name.toLowerCase())
    this.#calls = calls
  }

  /** Builds a call's values; only those that are read. */
  buildCallFacts(call: Call, called: CalledSubject, reads: ReadonlySet<Variable>): Facts {
    const { exchange } = call
    const facts = this.#buildCommonFacts(called, call.upstream, exchange.principal, reads)
    facts.phase = 'call'
    facts.method = call.method
    facts.args = readArguments(call)
    if (reads.has('client')) facts.client = createClientFacts(exchange)
    if (reads.has('session')) facts.session = this.#createSessionFacts(exchange.session)
    if (reads.has('request')) facts.request = this.#createRequestFacts(exchange)
    if (reads.has('now')) facts.now = new Date()
    return facts
  }

  /** Builds a listed entry's values. */
  buildEntryFacts(entry: CatalogEntry, { principal }: Pick<Session, 'principal'>, reads: ReadonlySet<Variable>): Facts {
    const facts = this.#buildCommonFacts(describeEntry(entry), entry.upstream, principal, reads)
    facts.phase = 'list'
    return facts
  }

  #buildCommonFacts(
    called: CalledSubject,
    upstream: string,
    principal: Principal,
    reads: ReadonlySet<Variable>,
  ): Facts {
    const facts: Facts = {}
    if (reads.has('principal')) facts.principal = this.#getPrincipalFacts(principal)
    if (reads.has('tool')) facts.tool = called.kind === 'tools' ? this.#getToolFacts(called) : NO_TOOL
    if (reads.has('prompt')) facts.prompt = createPromptFacts(called)
    if (reads.has('resource')) facts.resource = createResourceFacts(called, upstream)
    if (reads.has('skill')) facts.skill = createSkillFacts(called)
    if (reads.has('upstream')) facts.upstream = this.#getUpstreamFacts(upstream)
    if (reads.has('pin')) facts.pin = createPinFacts(called)
    return facts
  }

  #getPrincipalFacts(principal: Principal): object {
    let facts = this.#principals.get(principal)
    if (facts === undefined) {
      const { issuer, subject, client, scopes, groups = [], claims = {} } = principal
      const by = getCredentialType(principal)
      const key = by === 'key' ? subject : ''
      facts = createFacts('principal', {
        authenticated: by !== 'nobody',
        ...{ issuer, subject, client, scopes, groups, claims, key },
      })
      this.#principals.set(principal, facts)
    }
    return facts
  }

  #getToolFacts({ entry, name, original }: CalledSubject): object {
    if (entry === undefined) return createFacts('tool', { name, original })
    const cached = this.#tools.get(entry)
    if (cached?.name === name) return cached.facts
    const { annotations } = entry.value
    const facts = createFacts('tool', { name, original, annotations: isObject(annotations) ? annotations : {} })
    this.#tools.set(entry, { name, facts })
    return facts
  }

  #getUpstreamFacts(name: string): object {
    return this.#upstreams.get(name) ?? createFacts('upstream', { name })
  }

  #createSessionFacts(session: Session): object {
    const { id, label } = session
    return createFacts('session', { id, label, calls: BigInt(this.#calls.get(session).count) })
  }

  #createRequestFacts({ headers, params, remoteAddress = '' }: Exchange): object {
    const presentHeaders = this.#headers.flatMap(name =>
      headers[name] === undefined ? [] : [[name, headers[name]] as const],
    )
    const meta = params?._meta
    const trace = isObject(meta) && typeof meta.traceparent === 'string' ? meta.traceparent : headers.traceparent
    return createFacts('request', {
      headers: Object.fromEntries(presentHeaders),
      trace: trace ?? '',
      // Normalize IPv4 addresses from dual-stack sockets.
      remote: remoteAddress.replace(/^::ffff:(?=\d+\.)/i, ''),
    })
  }
}

/** Identifies a call's subject; unknown methods have only their name. */
export function identifyCall({ method, params, exchange }: Call): CalledSubject {
  const { entry } = exchange
  const kind = entry?.kind === 'skills' ? 'skills' : findSubjectKind(method, params)
  if (kind === undefined) return { kind, name: method, original: method, entry: undefined }
  const own = readSubjectName(method, params)
  return {
    kind,
    name: resolveExposedName(readSubjectName(method, exchange.params) || own, entry),
    original: kind === 'skills' ? own : (entry?.original ?? own),
    listed: entry?.exposed,
    entry,
    skill: findSkillName(entry, method === 'skills/get'),
  }
}

function createPinFacts({ entry }: CalledSubject): object {
  return createFacts('pin', { status: entry?.marks?.pin ?? 'unknown' })
}

function createPromptFacts({ kind, name, original }: CalledSubject): object {
  return kind === 'prompts' ? createFacts('prompt', { name, original }) : NO_PROMPT
}

/** A skill's file and an app's page have the URI of their server, whichever a client used. */
function createResourceFacts({ kind, name, original }: CalledSubject, upstream: string): object {
  if (kind !== 'resources' && kind !== 'skills') return NO_RESOURCE
  const app = parseAppUri(name)
  const isSkill = kind === 'skills' && parseSkillUri(name) !== undefined
  const uri = app?.upstream === upstream ? app.uri : isSkill ? original : name
  return createFacts('resource', { uri, original, scheme: parseScheme(uri) })
}

/** Rules that read an unknown name fail. */
function createSkillFacts({ kind, entry, skill: name }: CalledSubject): object | string {
  if (kind !== 'skills' || entry === undefined) return NO_SKILL
  const original = readText(entry.value, 'uri') ?? entry.original
  return name === undefined ? UNREADABLE : createFacts('skill', { name, original })
}

/** Without a manifest, guesses the name only where the answer is judged as well: any directory may have a SKILL.md. */
function findSkillName(entry: CatalogEntry | undefined, mayGuess: boolean): string | undefined {
  if (entry?.kind !== 'skills') return undefined
  const { value, original, isUnlisted } = entry
  const name = readText(value, 'frontmatter', 'name')
  if (name !== undefined || (isUnlisted === true && !mayGuess)) return name
  return /([^/]+)\/SKILL\.md$/.exec(readText(value, 'uri') ?? original)?.[1]
}

/** Returns the exposed name; a call continued as a task has the original one. */
function resolveExposedName(name: string, entry: CatalogEntry | undefined): string {
  return entry !== undefined && name === entry.original ? entry.exposed : name
}

export function describeEntry(entry: CatalogEntry): CalledSubject {
  const { kind, exposed, original } = entry
  return { kind: KINDS[kind], name: exposed, original, entry, skill: findSkillName(entry, true) }
}

function findSubjectKind(method: string, params: JsonObject | undefined): SubjectKind | undefined {
  const { kind, target } = METHODS.get(method) ?? {}
  if (target !== 'ref') return kind === undefined ? undefined : KINDS[kind]
  return isObject(params?.ref) && params.ref.type === 'ref/prompt' ? 'prompts' : 'resources'
}

/** Reads the name or URI from the parameters; for a completion from its reference. */
function readSubjectName(method: string, params: JsonObject | undefined): string {
  const target = (METHODS.get(method) ?? EXTENSION_METHODS.get(method))?.target
  if (target !== 'ref') return toText(target === undefined ? undefined : params?.[target])
  const ref = isObject(params?.ref) ? params.ref : {}
  return toText(ref.type === 'ref/prompt' ? ref.name : ref.uri)
}

/** Returns a string as it is, and anything else as an empty one. */
export function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Returns the arguments as the server receives them. A string if parsers may disagree about them, so that rules about
 * arguments fail.
 */
function readArguments({ method, params, exchange }: Call): JsonObject | string {
  if (exchange.hasExactNumbers === false) return UNREADABLE
  if (method === 'completion/complete') return mergeCompletionArguments(params)
  if (!METHODS.has(method)) return params ?? {}
  const args = params?.arguments ?? {}
  return isObject(args) ? args : UNREADABLE
}

/** Not an object, so that reading any argument fails. */
const UNREADABLE = 'unreadable'

/** Merges the completed argument with the others. */
function mergeCompletionArguments(params: JsonObject | undefined): JsonObject {
  const context = isObject(params?.context) && isObject(params.context.arguments) ? params.context.arguments : {}
  const argument = isObject(params?.argument) ? params.argument : {}
  return { ...context, [toText(argument.name)]: argument.value }
}

function createClientFacts({ session, principal, via }: Exchange): object {
  const { info, era } = session.client
  return createFacts('client', {
    name: toText(info.name),
    version: toText(info.version),
    era,
    via: principal.delegate === undefined ? via : 'agent',
    listener: session.listener,
  })
}
