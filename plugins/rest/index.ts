import type { Config, HttpReply, HttpRequest, JsonObject, Plugin } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, readText } from '../../src/plugin.ts'
import { callTool } from './call-tool.ts'
import type { RestRequest, RestSessions } from './mcp-session.ts'
import { createRestSessions, problem } from './mcp-session.ts'
import { cacheableReply, listTools, listAllTools } from './get-tools.ts'

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
  return {
    openapi: '3.1.0',
    info,
    paths: {
      [`${base}/tools`]: { get: LIST },
      [`${base}/tools/call`]: { post: CALL },
    },
    components: {
      parameters: { Session: SESSION },
      responses: { Problem: PROBLEM },
      schemas: { ...SCHEMAS, Call: callSchema(tools) },
    },
  }
}

/** One schema per tool, discriminated by name. */
function callSchema(tools: readonly JsonObject[]): JsonObject {
  if (tools.length === 0) return ANY_CALL
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

const PROBLEM = {
  description: 'Error',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}
const REFUSED = { $ref: '#/components/responses/Problem' }
const SESSION = {
  name: 'X-Session-ID',
  in: 'header',
  description: 'Session id chosen by the caller: requests with the same id share server state.',
  schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
}
const WITH_SESSION = [{ $ref: '#/components/parameters/Session' }]
const ANY_CALL = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string' }, arguments: { type: 'object' } },
}
const LIST = {
  operationId: 'listTools',
  summary: 'Lists the tools available to the caller',
  responses: {
    200: {
      description: 'The tools',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Tools' } } },
    },
    304: { description: 'Not modified' },
    default: REFUSED,
  },
}
const CALL = {
  operationId: 'callTool',
  summary: 'Calls a tool',
  parameters: WITH_SESSION,
  requestBody: {
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Call' } } },
  },
  responses: {
    200: {
      description: 'Tool result; `isError` for a tool failure. As events: `progress` and `log`, then `result`.',
      content: {
        'application/json': { schema: { $ref: '#/components/schemas/Result' } },
        'text/event-stream': { schema: { type: 'string' } },
      },
    },
    ...Object.fromEntries(
      ['400', '401', '403', '404', '413', '415', '429', '502', '503', '504'].map(status => [status, REFUSED]),
    ),
  },
}
const SCHEMAS = {
  Tools: {
    type: 'object',
    required: ['tools'],
    properties: { tools: { type: 'array', items: { $ref: '#/components/schemas/Tool' } } },
  },
  Tool: {
    type: 'object',
    required: ['name', 'inputSchema'],
    properties: {
      name: { type: 'string' },
      description: { type: 'string' },
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
    },
  },
  Result: {
    type: 'object',
    required: ['content'],
    properties: {
      content: { type: 'array', items: { type: 'object' } },
      structuredContent: {},
      isError: { type: 'boolean' },
    },
  },
  Problem: {
    type: 'object',
    required: ['title', 'status', 'detail'],
    properties: {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      rpcCode: { type: 'integer' },
      data: {},
    },
  },
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
