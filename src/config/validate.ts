import { isPlain } from '../util/plain-data.ts'
import { type Finding, pointerKeys } from '../util/finding.ts'
import { type SchemaError, explain } from './messages.ts'
import * as generated from './generated/validator.gen.ts'

interface Validator {
  (value: unknown): boolean
  errors?: readonly SchemaError[] | null
}

/** Checks plain data against the schema and fills in defaults, in place. */
export function validate(value: unknown): Finding[] {
  const check = generated.validate as unknown as Validator
  if (check(value)) return []
  const errors = (check.errors ?? []).map(error => quoting(error, value))
  const wrongType = new Set(errors.filter(error => error.keyword === 'type').map(error => error.instancePath))
  return errors.flatMap(error => {
    if (error.keyword !== 'type' && wrongType.has(error.instancePath)) return []
    return explain(error) ?? []
  })
}

let quoted: unknown

/** The same error with what its message quotes: the part of the schema that was broken, and the value that broke it. */
function quoting(error: SchemaError, value: unknown): SchemaError {
  const keys = pointerKeys(error.schemaPath.slice(1))
  const parent = withKey(keys.slice(0, -1).reduce(insideSchema, schema()), error.keyword)
  const data = pointerKeys(error.instancePath).reduce(inside, value)
  return {
    ...error,
    ...(isPlain(parent) ? { parentSchema: parent, schema: parent[error.keyword] } : {}),
    data: error.propertyName ?? data,
  }
}

function schema(): unknown {
  return (quoted ??= JSON.parse(generated.SCHEMA))
}

function insideSchema(at: unknown, key: string): unknown {
  return inside(withKey(at, key), key)
}

/** The part of the schema that has a key: this one, or the one that it refers to. */
function withKey(at: unknown, key: string): unknown {
  if (!isPlain(at) || Object.hasOwn(at, key) || typeof at['$ref'] !== 'string') return at
  return withKey(pointerKeys(at['$ref'].slice(1)).reduce(inside, schema()), key)
}

function inside(at: unknown, key: string): unknown {
  return typeof at === 'object' && at !== null && Object.hasOwn(at, key)
    ? (at as Readonly<Record<string, unknown>>)[key]
    : undefined
}
