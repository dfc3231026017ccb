import { createHash } from 'node:crypto'
import template from './openapi.json' with { type: 'json' }
import type { Config, HttpReply, HttpRequest, JsonObject, Plugin, Answer, Refusal } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, readText, ANONYMOUS } from '../../src/plugin.ts'
import { callTool } from './call-tool.ts'
import type { RestRequest, RestSessions, RestSession } from './mcp-session.ts'
import { createRestSessions, problem, toProblem, toProblemFromThrown } from './mcp-session.ts'

/** GET /openapi.json: the REST API with a schema for each tool of the caller. */
async function serveOpenApi(request: RestRequest, sessions: RestSessions): Promise<HttpReply> {
  const list = await listAllTools(request, sessions)
  if ('status' in list) return list
  const { info } = request.http.gate
  return cacheableReply(
    request,
    describeApi(request.base, { title: info.name, version: info.version }, list.tools),
    list,
  )
}

function describeApi(base: string, info: JsonObject, tools: readonly JsonObject[]): JsonObject {
  const { openapi, paths, components } = template
  const schemas = { ...components.schemas, ...(tools.length === 0 ? {} : { Call: callSchema(tools) }) }
  return {
    openapi,
    info,
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [base + path, item])),
    components: { ...components, schemas },
  }
}

/** One schema per tool, discriminated by name. */
function callSchema(tools: readonly JsonObject[]): JsonObject {
  return {
    type: 'object',
    required: ['name'],
    oneOf: tools.map(({ name, description, inputSchema }) => ({
      ...(typeof description === 'string' ? { description } : {}),
      properties: { name: { const: name }, arguments: toCallSchemaPart(String(name), inputSchema) },
    })),
  }
}

/** Gives a schema its own `$id`, so that references stay local. */
function toCallSchemaPart(name: string, schema: unknown): JsonObject {
  const own = typeof schema === 'object' && schema !== null ? (schema as JsonObject) : {}
  return { $id: `urn:tool:${encodeURIComponent(name)}`, ...own }
}

type RestHandler = (request: RestRequest, sessions: RestSessions) => Promise<HttpReply>

/** Routes below the path, and below each profile's path. */
const ROUTES: readonly { readonly path: string; readonly method: string; readonly handle: RestHandler }[] = [
  { path: '/tools', method: 'GET', handle: listTools },
  { path: '/tools/call', method: 'POST', handle: callTool },
  { path: '/openapi.json', method: 'GET', handle: serveOpenApi },
]

/** Tools over plain HTTP: each request is a session on the same pipeline as MCP. */
export const rest: Plugin<NonNullable<Config['rest']>> = {
  name: 'rest',
  claims: { section: 'rest' },
  check(config, report) {
    const listeners = readMap(config, 'listeners')
    const names = Object.keys(listeners).filter(name => readText(listeners, name, 'type') === 'http')
    readList(config, 'rest', 'listeners').forEach((name, i) =>
      checkKnownName(name, { what: 'HTTP listener', names }, `/rest/listeners/${i}`, report),
    )
  },
  setup({ config, options, hooks }) {
    const served = options.listeners === undefined ? undefined : new Set(options.listeners)
    const sessions = createRestSessions()
    for (const profile of [undefined, ...Object.keys(config.profiles ?? {})]) {
      const base = profile === undefined ? options.path : `${options.path}/${profile}`
      for (const { path, method, handle } of ROUTES)
        hooks.http.for(base + path).tap(http => {
          if (served?.has(http.listener) === false) return problem(404, 'Not found')
          if (http.method !== method) return methodNotAllowed(method, http)
          return handle({ http, profile, base }, sessions)
        })
    }
  },
}

function methodNotAllowed(allow: string, { method }: HttpRequest): HttpReply {
  const refused = problem(405, `${method} is not allowed`)
  return { ...refused, headers: { ...refused.headers, allow } }
}

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
async function listTools(request: RestRequest, sessions: RestSessions): Promise<HttpReply> {
  const list = await listAllTools(request, sessions)
  return 'status' in list ? list : cacheableReply(request, { tools: list.tools }, list)
}

/** Lists all tools, or returns a problem reply. */
async function listAllTools(request: RestRequest, sessions: RestSessions): Promise<ToolList | HttpReply> {
  try {
    const list = await sessions.withSession(request, false, readAllPages)
    return 'code' in list ? toProblem(list) : list
  } catch (thrown) {
    return toProblemFromThrown(thrown)
  }
}

async function readAllPages(session: RestSession): Promise<ToolList | Refusal['error']> {
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
function cacheableReply(
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
