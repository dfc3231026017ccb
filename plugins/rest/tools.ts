import { createHash } from 'node:crypto'
import type { Answer, HttpReply, JsonObject, RpcError } from '../../src/plugin.ts'
import { ANONYMOUS } from '../../src/plugin.ts'
import type { RestRequest, RestSessions, RestSession } from './road.ts'
import { problemOf, problemOfThrown } from './road.ts'

/** Pages of one list; a gateway that has more than these is in a loop. */
const MAX_PAGES = 1000

/** All tools of one caller. */
interface ToolList {
  readonly tools: readonly JsonObject[]
  /** Time that it holds, in milliseconds. */
  readonly ttlMs: number
  readonly isPublic: boolean
}

/** GET /tools: everything the caller may see, in one piece. */
export async function listTools(request: RestRequest, sessions: RestSessions): Promise<HttpReply> {
  const list = await toolsFor(request, sessions)
  return 'status' in list ? list : document(request, { tools: list.tools }, list)
}

/** The list, or why there is none. */
export async function toolsFor(request: RestRequest, sessions: RestSessions): Promise<ToolList | HttpReply> {
  try {
    const list = await sessions.within(request, false, readAll)
    return 'code' in list ? problemOf(list) : list
  } catch (thrown) {
    return problemOfThrown(thrown)
  }
}

async function readAll(visit: RestSession): Promise<ToolList | RpcError> {
  const tools: JsonObject[] = []
  let ttlMs = Infinity
  let isPublic = true
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer: Answer = await visit.run({
      method: 'tools/list',
      params: cursor === undefined ? {} : { cursor },
    })
    if (!('result' in answer)) return 'error' in answer ? answer.error : { code: -32603, message: 'no list' }
    const result = answer.result.value()
    if (Array.isArray(result.tools)) tools.push(...(result.tools as JsonObject[]))
    ttlMs = Math.min(ttlMs, typeof result.ttlMs === 'number' ? result.ttlMs : 0)
    isPublic &&= result.cacheScope === 'public'
    cursor = result.nextCursor
    if (cursor === undefined) break
  }
  return { tools, ttlMs, isPublic }
}

/** A document that can be asked for again at little cost. */
export function document(
  { http }: RestRequest,
  value: JsonObject,
  { ttlMs, isPublic }: Omit<ToolList, 'tools'>,
): HttpReply {
  const body = JSON.stringify(value)
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
  const seconds = Math.floor(ttlMs / 1000)
  // A cache in between may not know by which header a caller is known.
  const scope = isPublic && http.caller === ANONYMOUS ? 'public' : 'private'
  const headers = {
    etag,
    // An answer that is no longer fresh may still be unchanged: the ETag tells.
    'cache-control': seconds > 0 ? `${scope}, max-age=${seconds}` : `${scope}, no-cache`,
    vary: 'Origin, Authorization',
  }
  if (isKnown(http.header('if-none-match'), etag)) return { status: 304, headers }
  return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body }
}

function isKnown(sent: readonly string[], etag: string): boolean {
  const tags = sent.join(',').split(',')
  return tags.some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
