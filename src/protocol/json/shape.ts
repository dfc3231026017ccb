import { isObject } from './json.ts'
import { LongText } from './outline.ts'

/** Members that are named, over all levels. */
const MOST_MEMBERS = 64
const DEEPEST = 3
const LONGEST_KEY = 64

/** Part of a value that its shape shows: one member more tells that there are more. */
export const SHAPE_BOUNDS = { depth: DEEPEST, members: MOST_MEMBERS + 1 } as const

/** Names and types of arguments as JSON, without any value: `{"path":"string","deep":{"n":"number"}}`. */
export function shapeOf(args: unknown): string {
  const budget = { left: MOST_MEMBERS }
  return shape(args, DEEPEST, budget)
}

function shape(value: unknown, depth: number, budget: { left: number }): string {
  if (value instanceof LongText) return '"string"'
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
