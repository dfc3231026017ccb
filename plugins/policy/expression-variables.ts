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
  skill: { name: 'string', original: 'string' },
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
  'skill',
  'upstream',
  'pin',
  'phase',
])

/** Call and rule subjects. */
export type SubjectKind = 'tools' | 'prompts' | 'resources' | 'skills'

/** Evaluation values; only those that its rules read. */
export type Facts = { [V in Variable]?: object | string }

type FactFields<V extends StructuredVariable> = Readonly<Partial<Record<keyof (typeof FIELDS)[V], unknown>>>

/** Values for missing fields by CEL type. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  bool: false,
  string: '',
  int: 0n,
  'list<string>': [],
  'map<string, dyn>': {},
}

type FactsClass = new (values: object) => object

/** Classes by structured variable, by which the CEL engine knows the fields. */
export const CLASSES = Object.fromEntries(
  Object.entries(FIELDS).map(([name, fields]) => [name, createFactsClass(fields)]),
) as Readonly<Record<StructuredVariable, FactsClass>>

function createFactsClass(fields: Readonly<Record<string, string>>): FactsClass {
  const defaults = Object.fromEntries(Object.entries(fields).map(([field, type]) => [field, DEFAULTS[type]]))
  return class {
    readonly [field: string]: unknown

    constructor(values: object) {
      Object.assign(this, defaults, values)
    }
  }
}

/** Creates a variable's value; missing fields get their type's default. */
export function createFacts<V extends StructuredVariable>(name: V, values: FactFields<V>): object {
  return new CLASSES[name](values)
}

/** Returns a URI's scheme in lower case; empty if it has none. */
export function parseScheme(uri: string): string {
  return /^[a-z][a-z0-9+.-]*(?=:)/i.exec(uri)?.[0].toLowerCase() ?? ''
}
