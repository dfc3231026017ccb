import { isObject, type CarriedRequest, type JsonObject } from '../../../src/plugin.ts'
import type { Meta } from './definitions.ts'

/** Request that a call of one of our tools means. */
export type Meant = Pick<CarriedRequest, 'method' | 'params'>

/** Finds the request that a call means, or says what is wrong with its arguments. */
export function requestOf(meta: Meta, given: unknown): Meant | string {
  const args = given ?? {}
  return isObject(args) ? REQUESTS[meta](args) : 'the arguments must be an object'
}

const REQUESTS: Readonly<Record<Meta, (args: JsonObject) => Meant | string>> = {
  listResources: ({ templates = false, cursor }) => {
    if (typeof templates !== 'boolean') return '"templates" must be true or false'
    return listOf(templates ? 'resources/templates/list' : 'resources/list', cursor)
  },
  listPrompts: ({ cursor }) => listOf('prompts/list', cursor),
  readResource: ({ uri }) =>
    isText(uri) ? { method: 'resources/read', params: { uri } } : '"uri" must be the URI of a resource',
  getPrompt: ({ name, arguments: given = {} }) => {
    if (!isText(name)) return '"name" must be the name of a prompt'
    const args = textsOf(given)
    if (args === undefined) return '"arguments" must be an object of texts'
    return { method: 'prompts/get', params: { name, arguments: args } }
  },
}

/** Models send an empty text, or null, where they have no cursor. */
function listOf(method: Meant['method'], cursor: unknown): Meant | string {
  if (cursor === undefined || cursor === null || cursor === '') return { method, params: {} }
  return typeof cursor === 'string' ? { method, params: { cursor } } : '"cursor" must be a text'
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Arguments of a prompt are texts; models send numbers and truth values too. */
function textsOf(given: unknown): JsonObject | undefined {
  if (!isObject(given)) return undefined
  const entries = Object.entries(given).filter(([, value]) => value !== undefined && value !== null)
  if (entries.some(([, value]) => typeof value === 'object')) return undefined
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
