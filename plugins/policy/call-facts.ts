import type {
  Call,
  CatalogEntry,
  CatalogView,
  Config,
  Exchange,
  JsonObject,
  Principal,
  Slot,
  Session,
} from '../../src/plugin.ts'
import { getCredentialType, isObject, METHODS } from '../../src/plugin.ts'
import type { Facts, SubjectKind, Variable } from './facts.ts'
import {
  ClientFacts,
  PinFacts,
  PrincipalFacts,
  PromptFacts,
  RequestFacts,
  ResourceFacts,
  SessionFacts,
  ToolFacts,
  UpstreamFacts,
} from './facts.ts'
import type { Subject } from './rules.ts'

/** A thing that is called, with the variables that describe it. */
export interface Called extends Subject {
  readonly original: string
  readonly entry: CatalogEntry | undefined
}

const KINDS = {
  tools: 'tools',
  prompts: 'prompts',
  resources: 'resources',
  resourceTemplates: 'resources',
} as const satisfies Record<CatalogEntry['kind'], SubjectKind>

const NO_TOOL = new ToolFacts()
const NO_PROMPT = new PromptFacts()
const NO_RESOURCE = new ResourceFacts()

/** Makes the values that rules read, of a call or of an entry of a list. */
export class FactsMaker {
  readonly #upstreams: ReadonlyMap<string, UpstreamFacts>
  readonly #principals = new WeakMap<Principal, PrincipalFacts>()
  readonly #tools = new WeakMap<CatalogEntry, ToolFacts>()
  readonly #headers: readonly string[]
  readonly #calls: Slot<Session, { count: number }>

  /** `headers` are those that expressions may read; `calls` counts those of a session. */
  constructor(config: Config, headers: readonly string[], calls: Slot<Session, { count: number }>) {
    this.#upstreams = new Map(
      Object.entries(config.upstreams).map(([name, { tags, trusted }]) => [
        name,
        new UpstreamFacts(name, tags, trusted),
      ]),
    )
    this.#headers = headers.map(name => name.toLowerCase())
    this.#calls = calls
  }

  /** Values of a call: only those that are read are made. */
  ofCall(call: Call, called: Called, reads: ReadonlySet<Variable>): Facts {
    const { exchange } = call
    const facts = this.#ofThing(called, call.upstream, exchange.principal, reads)
    facts.phase = 'call'
    facts.method = call.method
    facts.args = argumentsOf(call)
    if (reads.has('client')) facts.client = clientOf(exchange)
    if (reads.has('session')) facts.session = this.#session(exchange.session)
    if (reads.has('request')) facts.request = this.#request(exchange)
    if (reads.has('now')) facts.now = new Date()
    return facts
  }

  /** Values of an entry that somebody may be shown. */
  ofEntry(entry: CatalogEntry, { principal }: CatalogView, reads: ReadonlySet<Variable>): Facts {
    const facts = this.#ofThing(calledBy(entry), entry.upstream, principal, reads)
    facts.phase = 'list'
    return facts
  }

  #ofThing(called: Called, upstream: string, principal: Principal, reads: ReadonlySet<Variable>): Facts {
    const facts: Facts = {}
    if (reads.has('principal')) facts.principal = this.#principal(principal)
    if (reads.has('tool')) facts.tool = called.kind === 'tools' ? this.#tool(called) : NO_TOOL
    if (reads.has('prompt')) facts.prompt = promptOf(called)
    if (reads.has('resource')) facts.resource = resourceOf(called)
    if (reads.has('upstream')) facts.upstream = this.#upstream(upstream)
    if (reads.has('pin')) facts.pin = new PinFacts(called.entry?.marks?.pin)
    return facts
  }

  #principal(principal: Principal): PrincipalFacts {
    let facts = this.#principals.get(principal)
    if (facts === undefined) {
      const { issuer, subject, client, scopes, groups = [], claims = {} } = principal
      const by = getCredentialType(principal)
      const key = by === 'key' ? subject : ''
      facts = new PrincipalFacts({
        authenticated: by !== 'nobody',
        issuer,
        subject,
        client,
        scopes,
        groups,
        claims,
        key,
      })
      this.#principals.set(principal, facts)
    }
    return facts
  }

  #tool({ entry, name, original }: Called): ToolFacts {
    if (entry === undefined) return new ToolFacts(name, original)
    const known = this.#tools.get(entry)
    if (known !== undefined && known.name === name) return known
    const { annotations } = entry.value
    const facts = new ToolFacts(name, original, isObject(annotations) ? annotations : {})
    this.#tools.set(entry, facts)
    return facts
  }

  #upstream(name: string): UpstreamFacts {
    return this.#upstreams.get(name) ?? new UpstreamFacts(name)
  }

  #session(session: Session): SessionFacts {
    return new SessionFacts(session.id, session.label, this.#calls.get(session).count)
  }

  #request({ headers, params, remoteAddress = '' }: Exchange): RequestFacts {
    const known = this.#headers.flatMap(name =>
      headers[name] === undefined ? [] : [[name, headers[name]] as const],
    )
    const meta = params?._meta
    const trace =
      isObject(meta) && typeof meta.traceparent === 'string' ? meta.traceparent : headers.traceparent
    // An address of IPv4 is written in one way, whatever the listener's socket is.
    return new RequestFacts(Object.fromEntries(known), trace, remoteAddress.replace(/^::ffff:(?=\d+\.)/i, ''))
  }
}

/** Finds out what a call is about. A method that nobody knows is about nothing but itself. */
export function calledIn({ method, params, exchange }: Call): Called {
  const kind = kindOf(method, params)
  const { entry } = exchange
  if (kind === undefined) return { kind, name: method, original: method, entry: undefined }
  const own = nameIn(method, params)
  return {
    kind,
    name: saidName(nameIn(method, exchange.params) || own, entry),
    original: entry?.original ?? own,
    listed: entry?.exposed,
    entry,
  }
}

function promptOf({ kind, name, original }: Called): PromptFacts {
  return kind === 'prompts' ? new PromptFacts(name, original) : NO_PROMPT
}

function resourceOf({ kind, name, original }: Called): ResourceFacts {
  return kind === 'resources' ? new ResourceFacts(name, original) : NO_RESOURCE
}

/** The name that the client knows: a call that goes on as a task has the one that its server knows. */
function saidName(said: string, entry: CatalogEntry | undefined): string {
  return entry !== undefined && said === entry.original ? entry.exposed : said
}

export function calledBy(entry: CatalogEntry): Called {
  const { kind, exposed, original } = entry
  return { kind: KINDS[kind], name: exposed, original, entry }
}

function kindOf(method: string, params: JsonObject | undefined): SubjectKind | undefined {
  const { kind, target } = METHODS.get(method) ?? {}
  if (target !== 'ref') return kind === undefined ? undefined : KINDS[kind]
  return isObject(params?.ref) && params.ref.type === 'ref/prompt' ? 'prompts' : 'resources'
}

/** The name or URI in parameters; that of a completion is in its reference. */
function nameIn(method: string, params: JsonObject | undefined): string {
  const target = METHODS.get(method)?.target
  if (target !== 'ref') return textOf(target === undefined ? undefined : params?.[target])
  const ref = isObject(params?.ref) ? params.ref : {}
  return textOf(ref.type === 'ref/prompt' ? ref.name : ref.uri)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * The arguments of a call, as its server gets them. Undefined where two readers may see other ones: then no rule about
 * them has a value.
 */
function argumentsOf({ method, params, exchange }: Call): JsonObject | string {
  if (exchange.hasExactNumbers === false) return UNREADABLE
  if (method === 'completion/complete') return completed(params)
  if (!METHODS.has(method)) return params ?? {}
  const args = params?.arguments ?? {}
  return isObject(args) ? args : UNREADABLE
}

/** A value without any argument in it, and not an empty map either. */
const UNREADABLE = 'unreadable'

/** Arguments of a completion: the one that is being completed is an argument like the others. */
function completed(params: JsonObject | undefined): JsonObject {
  const context =
    isObject(params?.context) && isObject(params.context.arguments) ? params.context.arguments : {}
  const argument = isObject(params?.argument) ? params.argument : {}
  return { ...context, [textOf(argument.name)]: argument.value }
}

function clientOf({ session, principal, via }: Exchange): ClientFacts {
  const { info, era } = session.client
  return new ClientFacts({
    name: textOf(info.name),
    version: textOf(info.version),
    era,
    via: principal.delegate === undefined ? via : 'agent',
    listener: session.listener,
  })
}
