import type { JsonObject } from '../../src/plugin.ts'

/** Fields of structured variables with their CEL types. `args` has no fixed fields. */
export const FIELDS = {
  principal: {
    authenticated: 'bool',
    issuer: 'string',
    subject: 'string',
    client: 'string',
    scopes: 'list<string>',
    groups: 'list<string>',
    claims: 'map<string, dyn>',
    key: 'string',
  },
  client: { name: 'string', version: 'string', era: 'string', via: 'string', listener: 'string' },
  tool: { name: 'string', original: 'string', annotations: 'map<string, dyn>' },
  prompt: { name: 'string', original: 'string' },
  resource: { uri: 'string', original: 'string', scheme: 'string' },
  upstream: { name: 'string', tags: 'list<string>', trusted: 'bool' },
  session: { id: 'string', label: 'string', calls: 'int' },
  request: { remote: 'string', headers: 'map<string, dyn>', trace: 'string' },
  pin: { status: 'string' },
} as const

type StructuredVariable = keyof typeof FIELDS

export type Variable = StructuredVariable | 'args' | 'method' | 'phase' | 'now'

/** Other variables with their CEL types. */
export const VALUES = {
  args: 'map<string, dyn>',
  method: 'string',
  phase: 'string',
  now: 'google.protobuf.Timestamp',
} as const

export const VARIABLES: readonly Variable[] = [
  ...(Object.keys(FIELDS) as StructuredVariable[]),
  ...(Object.keys(VALUES) as (keyof typeof VALUES)[]),
]

/** Variables that are known when an entry is listed. */
export const LISTED: ReadonlySet<Variable> = new Set([
  'principal',
  'tool',
  'prompt',
  'resource',
  'upstream',
  'pin',
  'phase',
])

/** Call and rule subjects. */
export type SubjectKind = 'tools' | 'prompts' | 'resources'

/** Evaluation values; only those that its rules read. */
export type Facts = { [V in Variable]?: object | string }

/** Each structured variable has its own class, by which the CEL engine knows its fields. */
export class PrincipalFacts {
  declare readonly authenticated: boolean
  declare readonly issuer: string
  declare readonly subject: string
  declare readonly client: string
  declare readonly scopes: readonly string[]
  declare readonly groups: readonly string[]
  declare readonly claims: JsonObject
  declare readonly key: string

  constructor(values: Pick<PrincipalFacts, keyof PrincipalFacts>) {
    Object.assign(this, values)
  }
}

export class ClientFacts {
  declare readonly name: string
  declare readonly version: string
  declare readonly era: string
  declare readonly via: string
  declare readonly listener: string

  constructor(values: Pick<ClientFacts, keyof ClientFacts>) {
    Object.assign(this, values)
  }
}

export class ToolFacts {
  readonly name: string
  readonly original: string
  readonly annotations: JsonObject

  constructor(name = '', original = '', annotations: JsonObject = {}) {
    this.name = name
    this.original = original
    this.annotations = annotations
  }
}

export class PromptFacts {
  readonly name: string
  readonly original: string

  constructor(name = '', original = '') {
    this.name = name
    this.original = original
  }
}

export class ResourceFacts {
  readonly uri: string
  readonly original: string
  readonly scheme: string

  constructor(uri = '', original = '') {
    this.uri = uri
    this.original = original
    this.scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(uri)?.[0].toLowerCase() ?? ''
  }
}

export class UpstreamFacts {
  readonly name: string
  readonly tags: readonly string[]
  readonly trusted: boolean

  constructor(name = '', tags: readonly string[] = [], trusted = false) {
    this.name = name
    this.tags = tags
    this.trusted = trusted
  }
}

export class SessionFacts {
  readonly id: string
  readonly label: string
  readonly calls: bigint

  constructor(id = '', label = '', calls = 0) {
    this.id = id
    this.label = label
    this.calls = BigInt(calls)
  }
}

export class RequestFacts {
  readonly headers: JsonObject
  readonly trace: string
  readonly remote: string

  constructor(headers: JsonObject = {}, trace = '', remote = '') {
    this.headers = headers
    this.trace = trace
    this.remote = remote
  }
}

export class PinFacts {
  readonly status: string

  constructor(status = 'unknown') {
    this.status = status
  }
}

/** Classes by structured variable. */
export const CLASSES = {
  principal: PrincipalFacts,
  client: ClientFacts,
  tool: ToolFacts,
  prompt: PromptFacts,
  resource: ResourceFacts,
  upstream: UpstreamFacts,
  session: SessionFacts,
  request: RequestFacts,
  pin: PinFacts,
} as const
