import type { JsonObject } from './json/json.ts'
import { unreadBytes, withMembers, withoutMember } from './unread-arguments.ts'

/** Methods whose `arguments` many clients write as null if there are none, which few servers take. */
const WITH_ARGUMENTS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])

/** Parameters of a client's request in which null means absent: an empty cursor is none, and `arguments: null` is `{}`. */
export function withoutNulls(method: string, params: JsonObject | undefined): JsonObject | undefined {
  if (params === undefined) return undefined
  if (method.endsWith('/list'))
    return params.cursor === null || params.cursor === '' ? withoutMember(params, 'cursor') : params
  // Large arguments that nobody has read are an object.
  const isNull = WITH_ARGUMENTS.has(method) && unreadBytes(params) === undefined && params.arguments === null
  return isNull ? withMembers(params, { arguments: {} }) : params
}
