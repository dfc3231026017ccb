import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'

/** Numbers that are the same each time. */
export function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

type Random = () => number

const TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const
const DEPTH = 6

/** A value that the schema probably takes. */
export function sampleOf(schema: unknown, root: JsonObject, random: Random, depth = 0): unknown {
  if (!isObject(schema) || depth > DEPTH) return 'any'
  if (typeof schema.$ref === 'string') return sampleOf(resolved(schema.$ref, root), root, random, depth + 1)
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return pick(schema.enum as unknown[], random)
  const branches = branchesOf(schema)
  if (branches !== undefined) return sampleOf(pick(branches, random), root, random, depth + 1)
  const types: readonly unknown[] = Array.isArray(schema.type) ? (schema.type as unknown[]) : [schema.type]
  return ofType(pick(types, random) ?? guessed(schema, random), schema, root, random, depth)
}

function branchesOf({ anyOf, oneOf, properties }: JsonObject): readonly unknown[] | undefined {
  const list = anyOf ?? oneOf
  return Array.isArray(list) && properties === undefined ? (list as unknown[]) : undefined
}

function guessed(schema: JsonObject, random: Random): string {
  if ('properties' in schema) return 'object'
  return 'items' in schema ? 'array' : pick(TYPES, random)
}

function ofType(type: unknown, schema: JsonObject, root: JsonObject, random: Random, depth: number): unknown {
  switch (type) {
    case 'object':
      return objectOf(schema, root, random, depth)
    case 'array':
      return Array.from({ length: Math.max(Number(schema.minItems ?? 0), Math.floor(random() * 3)) }, () =>
        sampleOf(schema.items ?? { type: 'string' }, root, random, depth + 1),
      )
    case 'number':
    case 'integer':
      return numberOf(schema, random)
    case 'boolean':
      return random() < 0.5
    case 'null':
      return null
    default:
      return textOf(schema)
  }
}

function objectOf(schema: JsonObject, root: JsonObject, random: Random, depth: number): JsonObject {
  const required: readonly unknown[] = Array.isArray(schema.required) ? (schema.required as unknown[]) : []
  const entries = Object.entries(isObject(schema.properties) ? schema.properties : {})
    .filter(([name]) => required.includes(name) || random() < 0.5)
    .map(([name, part]) => [name, sampleOf(part, root, random, depth + 1)] as const)
  return Object.fromEntries(entries)
}

function numberOf(
  { minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject,
  random: Random,
): number {
  const low = Number(minimum ?? (exclusiveMinimum === undefined ? 0 : Number(exclusiveMinimum) + 1))
  const high = Number(maximum ?? (exclusiveMaximum === undefined ? low + 100 : Number(exclusiveMaximum) - 1))
  return Math.floor(low + random() * Math.max(0, high - low))
}

const FORMATS: Readonly<Record<string, string>> = {
  uri: 'https://example.com/a',
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  ipv4: '10.0.0.1',
  ipv6: '::1',
  email: 'a@example.com',
}

function textOf({ format, minLength }: JsonObject): string {
  return (FORMATS[String(format)] ?? 'text').padEnd(Number(minLength ?? 0), 'x')
}

function resolved(reference: string, root: JsonObject): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>((place, key) => (isObject(place) ? place[key] : undefined), root)
}

function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)] as T
}

/** The value with something wrong: a member too many, one too few, or one of another type. */
export function spoilt(value: JsonObject, random: Random): JsonObject {
  const names = Object.keys(value)
  const name = names[Math.floor(random() * names.length)]
  if (name === undefined || random() < 0.2) return { ...value, unheardOf: true }
  if (random() < 0.4) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
  return { ...value, [name]: typeof value[name] === 'object' ? 7 : { odd: [] } }
}
