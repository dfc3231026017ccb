import { isObject, readList, readMap } from '../../../src/plugin.ts'
import { cleaned } from '../document/parts.ts'
import type { Operation, Parameter, Plain, References } from '../document/types.ts'
import type { SchemaUse } from './schema.ts'
import { namesIn, plainSchema } from './schema.ts'

/** Destination of an argument: a parameter, a property of the body, or all of the body. */
type Target =
  | { readonly to: 'parameter'; readonly parameter: Parameter }
  | { readonly to: 'property'; readonly name: string }
  | { readonly to: 'body' }

/** One argument of a tool. */
export interface Argument {
  readonly name: string
  readonly isRequired: boolean
  readonly target: Target
  readonly schema: Plain
}

const USE: SchemaUse = { isLoose: false, maxBytes: 16 * 1024 }
const MAX_NAME = 64
const MAX_ALL = 64 * 1024
const PLACES = ['path', 'query', 'header', 'cookie']
/** Compositions of schemas that are followed. */
const MAX_NESTED = 16

/** The arguments of an operation: its parameters, and the properties of its body beside them where no name is both. */
export function argumentsOf(operation: Operation, references: References): readonly Argument[] {
  const names = new Names()
  const parameters = [...operation.parameters].sort((a, b) => PLACES.indexOf(a.in) - PLACES.indexOf(b.in))
  const own = parameters.map(parameter => {
    const schema = plainSchema(parameter.schema, references, USE)
    const { description = schema.description } = parameter
    return {
      name: names.give(parameter.name, parameter.in),
      isRequired: parameter.required,
      target: { to: 'parameter' as const, parameter },
      schema:
        description === undefined ? schema : { ...schema, description: String(description).slice(0, 1000) },
    }
  })
  return [...own, ...bodyArguments(operation, references, names)]
}

function bodyArguments({ body }: Operation, references: References, names: Names): Argument[] {
  if (body === undefined) return []
  const members = membersOf(body.schema, references, 0)
  const isFlat =
    members !== undefined &&
    members.properties.size > 0 &&
    [...members.properties.keys()].every(name => !names.has(name))
  if (!isFlat) {
    const plain = plainSchema(body.schema, references, USE)
    const schema =
      body.description === undefined ? plain : { description: body.description.slice(0, 1000), ...plain }
    return [
      { name: names.give('body', 'request'), isRequired: body.required, target: { to: 'body' }, schema },
    ]
  }
  return [...members.properties].flatMap(([name, given]) => {
    const followed = references.follow(given)
    if (isObject(followed) && followed.readOnly === true) return []
    const isRequired = body.required && members.required.has(name)
    const target = { to: 'property' as const, name }
    return [
      { name: names.give(name, 'body'), isRequired, target, schema: plainSchema(given, references, USE) },
    ]
  })
}

interface Members {
  readonly properties: Map<string, unknown>
  readonly required: Set<string>
}

/** Properties of a schema that is nothing but an object of known properties. */
function membersOf(given: unknown, references: References, depth: number): Members | undefined {
  const schema = references.follow(given)
  if (depth > MAX_NESTED || !isObject(schema) || !isClosed(schema)) return undefined
  const members: Members = {
    properties: new Map(Object.entries(readMap(schema, 'properties'))),
    required: new Set(namesIn(schema.required)),
  }
  for (const branch of readList(schema, 'allOf')) {
    const inner = membersOf(branch, references, depth + 1)
    if (inner === undefined) return undefined
    for (const [name, value] of inner.properties) members.properties.set(name, value)
    for (const name of inner.required) members.required.add(name)
  }
  return members
}

/** True for an object of known properties alone. */
function isClosed({ type = 'object', anyOf, oneOf, additionalProperties = false }: Plain): boolean {
  return type === 'object' && anyOf === undefined && oneOf === undefined && additionalProperties === false
}

/** The schema of all arguments; where it would be too long, the largest of them say less. */
export function inputSchemaOf(all: readonly Argument[]): Plain {
  const required = all.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  const properties = all.map(({ name, schema }) => [name, schema] as const)
  const sizes = properties.map(([, schema]) => JSON.stringify(schema).length)
  const share = MAX_ALL / Math.max(1, properties.length)
  const isLong = sizes.reduce((sum, size) => sum + size, 0) > MAX_ALL
  const fitting = properties.map(([name, schema], i) => {
    const isOver = isLong && (sizes[i] ?? 0) > share
    return [name, isOver ? brief(schema) : schema] as const
  })
  return {
    type: 'object',
    properties: Object.fromEntries(fitting),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  }
}

function brief({ type, description }: Plain): Plain {
  const text = typeof description === 'string' ? { description: description.slice(0, 100) } : {}
  return { ...(type === undefined ? {} : { type }), ...text }
}

/** Gives each argument a name that every client takes, and that no other has. */
class Names {
  readonly #taken = new Set<string>()

  has(name: string): boolean {
    return this.#taken.has(argumentName(name))
  }

  give(name: string, place: string): string {
    const plain = argumentName(name)
    let given = plain
    for (let count = 1; this.#taken.has(given); count++) {
      const end = count === 1 ? `_${place}` : `_${place}${count}`
      given = plain.slice(0, MAX_NAME - end.length) + end
    }
    this.#taken.add(given)
    return given
  }
}

function argumentName(name: string): string {
  const plain = /^[A-Za-z0-9_.-]+$/.test(name) ? name : cleaned(name)
  return (plain === '' ? 'argument' : plain).slice(0, MAX_NAME)
}
