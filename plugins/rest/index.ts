import type { Config, HttpReply, HttpRequest, JsonObject, Plugin } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, readText } from '../../src/plugin.ts'
import { callTool } from './call-tool.ts'
import type { RestRequest, RestSessions } from './mcp-session.ts'
import { createRestSessions, problem } from './mcp-session.ts'
import { cacheableReply, listTools, listAllTools } from './get-tools.ts'
import template from './openapi.json' with { type: 'json' }

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
  setup({ config, options, hooks, clock }) {
    const served = options.listeners === undefined ? undefined : new Set(options.listeners)
    const sessions = createRestSessions(clock)
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
