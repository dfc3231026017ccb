import { createHash } from 'node:crypto'
import template from './openapi.json' with { type: 'json' }
import type { Answer, Config, HttpReply, JsonObject, Plugin } from '../../src/plugin.ts'
import { checkKnownName, isAppOnly, readList, readMap, readText, ANONYMOUS, RPC } from '../../src/plugin.ts'
import { callTool } from './call-tool.ts'
import type { RestRequest, SendRequest } from './mcp-session.ts'
import { problem, toProblem, toProblemFromThrown, withSession } from './mcp-session.ts'

/** GET /openapi.json: the REST API with a schema for each tool of the caller. */
async function serveOpenApi(request: RestRequest): Promise<HttpReply> {
  const list = await listAllTools(request)
  if ('status' in list) return list
  const { name: title, version } = request.http.gate.info
  return cacheableReply(request, describeApi(request.base, { title, version }, list.tools), list)
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
      // Its own `$id` keeps references local.
      properties: {
        name: { const: name },
        arguments: { $id: `urn:tool:${encodeURIComponent(String(name))}`, ...readMap(inputSchema) },
      },
    })),
  }
}

type RestHandler = (request: RestRequest) => Promise<HttpReply>

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
    for (const profile of [undefined, ...Object.keys(config.profiles ?? {})]) {
      const base = profile === undefined ? options.path : `${options.path}/${profile}`
      for (const { path, method, handle } of ROUTES)
        hooks.http.for(base + path).tap(http => {
          if (served?.has(http.listener) === false) return problem(404, 'Not found')
          if (http.method !== method) return problem(405, `${http.method} is not allowed`, {}, { allow: method })
          return handle({ http, profile, base })
        })
    }
  },
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
async function listTools(request: RestRequest): Promise<HttpReply> {
  const list = await listAllTools(request)
  return 'status' in list ? list : cacheableReply(request, { tools: list.tools }, list)
}

/** Lists all tools, or returns a problem reply. */
function listAllTools(request: RestRequest): Promise<ToolList | HttpReply> {
  return withSession(request, false, readAllPages).catch(toProblemFromThrown)
}

async function readAllPages(send: SendRequest): Promise<ToolList | HttpReply> {
  const tools: JsonObject[] = []
  let ttlMs = Infinity
  let isPublic = true
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer: Answer = await send({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } })
    if ('error' in answer) return toProblem(answer.error)
    if (!('result' in answer)) return toProblem({ code: RPC.internal, message: 'no list' })
    const result = answer.result.value()
    // No host hides the tools of apps from the model of a REST client.
    if (Array.isArray(result.tools)) tools.push(...(result.tools as JsonObject[]).filter(tool => !isAppOnly(tool)))
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
