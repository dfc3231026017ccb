import type { Config, HttpReply, HttpRequest, JsonObject, Plugin } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, readText } from '../../src/plugin.ts'
import { callTool } from './call.ts'
import type { RestRequest, RestSessions } from './road.ts'
import { REST_SESSIONS, problem } from './road.ts'
import { document, listTools, toolsFor } from './tools.ts'

/** GET /openapi.json: the façade, and every tool of the caller with its schema. */
async function openApi(request: RestRequest, sessions: RestSessions): Promise<HttpReply> {
  const list = await toolsFor(request, sessions)
  if ('status' in list) return list
  const { info } = request.http.gate
  return document(
    request,
    described(request.base, { title: info.name, version: info.version }, list.tools),
    list,
  )
}

function described(base: string, info: JsonObject, tools: readonly JsonObject[]): JsonObject {
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

/** One schema for each tool, told apart by its name. */
function callSchema(tools: readonly JsonObject[]): JsonObject {
  if (tools.length === 0) return ANY_CALL
  return {
    type: 'object',
    required: ['name'],
    oneOf: tools.map(({ name, description, inputSchema }) => ({
      ...(typeof description === 'string' ? { description } : {}),
      properties: { name: { const: name }, arguments: bundled(String(name), inputSchema) },
    })),
  }
}

/** A schema with an address of its own, so that its references stay within it. */
function bundled(name: string, schema: unknown): JsonObject {
  const own = typeof schema === 'object' && schema !== null ? (schema as JsonObject) : {}
  return { $id: `urn:tool:${encodeURIComponent(name)}`, ...own }
}

const PROBLEM = {
  description: 'Why there is no result',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}
const REFUSED = { $ref: '#/components/responses/Problem' }
const SESSION = {
  name: 'X-Session-ID',
  in: 'header',
  description: 'What the caller calls its conversation: its requests share what stateful tools keep.',
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
  summary: 'All tools that the caller may use',
  responses: {
    200: {
      description: 'The tools',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Tools' } } },
    },
    304: { description: 'As it was' },
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
      description:
        'What the tool said; `isError` where it failed. As events: `progress` and `log`, then `result`.',
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

type Handler = (request: RestRequest, sessions: RestSessions) => Promise<HttpReply>

/** Pages that are served, below the path and below each profile. */
const ROUTES: readonly { readonly path: string; readonly method: string; readonly handle: Handler }[] = [
  { path: '/tools', method: 'GET', handle: listTools },
  { path: '/tools/call', method: 'POST', handle: callTool },
  { path: '/openapi.json', method: 'GET', handle: openApi },
]

/** Tools over plain HTTP: each request is a session of its own on the same pipeline as MCP. */
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
    const sessions = REST_SESSIONS(clock)
    for (const profile of [undefined, ...Object.keys(config.profiles ?? {})]) {
      const base = profile === undefined ? options.path : `${options.path}/${profile}`
      for (const { path, method, handle } of ROUTES)
        hooks.http.for(base + path).tap(http => {
          if (served?.has(http.listener) === false) return problem(404, 'Nothing is served here')
          if (http.method !== method) return notAllowed(method, http)
          return handle({ http, profile, base }, sessions)
        })
    }
  },
}

function notAllowed(allow: string, { method }: HttpRequest): HttpReply {
  const refused = problem(405, `${method} is not answered here`)
  return { ...refused, headers: { ...refused.headers, allow } }
}
