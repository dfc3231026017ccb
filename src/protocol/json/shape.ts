import { isObject, type JsonObject } from './json.ts'

/** Members that are named, over all levels. */
const MOST_MEMBERS = 64
const DEEPEST = 3
const LONGEST_KEY = 64

/** Names and types of a call's arguments as JSON, without any value: `{"path":"string","deep":{"n":"number"}}`; undefined if it has none. */
export function argumentsShape(params: JsonObject | undefined): string | undefined {
  const args = params?.arguments
  return args === undefined ? undefined : shape(args, DEEPEST, { left: MOST_MEMBERS })
}

function shape(value: unknown, depth: number, budget: { left: number }): string {
  if (Array.isArray(value)) return '"array"'
  if (isObject(value)) return depth > 0 ? members(value, depth - 1, budget) : '"object"'
  return value === null ? '"null"' : `"${typeof value}"`
}

function members(value: Readonly<Record<string, unknown>>, depth: number, budget: { left: number }): string {
  const parts: string[] = []
  for (const key in value) {
    if (budget.left-- <= 0) {
      parts.push('"…":"more"')
      break
    }
    parts.push(`${JSON.stringify(key.slice(0, LONGEST_KEY))}:${shape(value[key], depth, budget)}`)
  }
  return `{${parts.join(',')}}`
}
