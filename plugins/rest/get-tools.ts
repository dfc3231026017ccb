import { createHash } from 'node:crypto'
import type { Answer, HttpReply, JsonObject, RpcError } from '../../src/plugin.ts'
import { ANONYMOUS } from '../../src/plugin.ts'
import type { RestRequest, RestSessions, RestSession } from './mcp-session.ts'
import { toProblem, toProblemFromThrown } from './mcp-session.ts'

/** Page limit, in case the pagination loops. */
const MAX_PAGES = 1000

/** Tools visible to one caller. */
interface ToolList {
  readonly tools: readonly JsonObject[]
  /** Freshness in milliseconds. */
  readonly ttlMs: number
  readonly isPublic: boolean
}

/** GET /tools: all tools of the caller in one list. */
export async function listTools(request: RestRequest, sessions: RestSessions): Promise<HttpReply> {
  const list = await listAllTools(request, sessions)
  return 'status' in list ? list : cacheableReply(request, { tools: list.tools }, list)
}

/** Lists all tools, or returns a problem reply. */
export async function listAllTools(request: RestRequest, sessions: RestSessions): Promise<ToolList | HttpReply> {
  try {
    const list = await sessions.withSession(request, false, readAllPages)
    return 'code' in list ? toProblem(list) : list
  } catch (thrown) {
    return toProblemFromThrown(thrown)
  }
}

async function readAllPages(session: RestSession): Promise<ToolList | RpcError> {
  const tools: JsonObject[] = []
  let ttlMs = Infinity
  let isPublic = true
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer: Answer = await session.request({
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

/** Creates a JSON reply with an ETag and cache headers. */
export function cacheableReply(
  { http }: RestRequest,
  value: JsonObject,
  { ttlMs, isPublic }: Omit<ToolList, 'tools'>,
): HttpReply {
  const body = JSON.stringify(value)
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
  const seconds = Math.floor(ttlMs / 1000)
  // An intermediate cache may not know which header identifies the caller.
  const scope = isPublic && http.caller === ANONYMOUS ? 'public' : 'private'
  const headers = {
    etag,
    // A stale answer may still match the ETag.
    'cache-control': seconds > 0 ? `${scope}, max-age=${seconds}` : `${scope}, no-cache`,
    vary: 'Origin, Authorization',
  }
  if (matchesEtag(http.header('if-none-match'), etag)) return { status: 304, headers }
  return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body }
}

function matchesEtag(sent: readonly string[], etag: string): boolean {
  const tags = sent.join(',').split(',')
  return tags.some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
