import { isObject, type JsonObject } from '../../src/plugin.ts'
import type { Texts } from './texts.ts'

const DEEPEST = 3
/** Members that are named, over all levels. */
const MOST_MEMBERS = 64

interface Budget {
  left: number
}

/** Names, types and lengths of arguments as JSON text, without any value: `{"path":"string(12)","deep":{"n":"number"}}`. */
export function shapeOf(args: unknown, texts: Texts): string {
  return shape(args, texts, DEEPEST, { left: MOST_MEMBERS })
}

function shape(value: unknown, texts: Texts, depth: number, budget: Budget): string {
  if (typeof value === 'string') return `"string(${value.length})"`
  if (Array.isArray(value)) return `"array(${value.length})"`
  if (isObject(value)) return depth > 0 ? members(value, texts, depth - 1, budget) : '"object"'
  return value === null ? '"null"' : `"${typeof value}"`
}

function members(value: JsonObject, texts: Texts, depth: number, budget: Budget): string {
  let text = ''
  for (const key in value) {
    if (budget.left-- <= 0) {
      text += `${text === '' ? '' : ','}"…":"more"`
      break
    }
    text += `${text === '' ? '' : ','}${texts.of(key)}:${shape(value[key], texts, depth, budget)}`
  }
  return `{${text}}`
}
