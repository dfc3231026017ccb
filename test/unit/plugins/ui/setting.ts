import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import { createApiRoutes, type ApiRoutesDeps } from '../../../../plugins/ui/api-routes.ts'
import { ToolTrials } from '../../../../plugins/ui/tool-trials.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
  type TestTool,
  type TestUpstream,
} from '../../../../src/testing/index.ts'

/** All operations of the API, by method and name. */
export const ROUTES = Object.keys(
  createApiRoutes({
    parts: ['approvals', 'logins', 'cache', 'agents'],
    recorder: {},
    trials: new ToolTrials(text => text),
  } as unknown as ApiRoutesDeps),
)

/** A gateway with the page, and a server whose tools show all that a page can show. */
export interface Setting {
  readonly gateway: TestGateway
  readonly upstream: TestUpstream
  /** Origin of the gateway. */
  readonly origin: string
  /** A link as `gateway ui` prints it. */
  link(): Promise<string>
  client(): Promise<TestClient>
  /** A browser without a screen: it has the cookie and the key of a link. */
  opened(): Promise<Opened>
}

export interface Opened {
  readonly cookie: string
  readonly key: string
  ask(name: string, init?: RequestInit): Promise<Response>
  json(name: string, body?: JsonObject): Promise<JsonObject>
}

type Notify = (method: string, params: JsonObject) => void

const TOOLS = {
  echo: (args: JsonObject) => String(args.text),
  boom: () => ({ content: [{ type: 'text', text: 'no' }], isError: true }),
  slow: (_args: JsonObject, { notify, params }: { notify: Notify; params: JsonObject }) => {
    const token = (params._meta as JsonObject | undefined)?.progressToken
    notify('notifications/progress', { progressToken: token, progress: 1, total: 2 })
    return 'done'
  },
}

export async function setting(
  t: TestContext,
  config: JsonObject = {},
  tools: Readonly<Record<string, TestTool>> = {},
  era: 'modern' | 'dual' = 'dual',
): Promise<Setting> {
  const upstream = closeAfter(t, await testUpstream({ tools: { ...TOOLS, ...tools }, era }))
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { web: upstream }, config: { ui: { values: '*' }, ...config } }),
  )
  const { origin } = new URL(gateway.url)
  const link = async (): Promise<string> => String((await gateway.gateway.control('ui.link')).url)
  return {
    gateway,
    upstream,
    origin,
    link,
    client: async () => closeAfter(t, await testClient(gateway)),
    opened: async () => open(await link()),
  }
}

/** Opens a link as the page does. */
export async function open(link: string): Promise<Opened> {
  const url = new URL(link)
  const token = url.hash.replace('#token=', '')
  const reply = await session(new URL('api/session', url), { token })
  const cookie = String(reply.headers.get('set-cookie')).split(';', 1)[0] ?? ''
  const { key } = (await reply.json()) as { key: string }
  const ask = (name: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    headers.set('cookie', cookie)
    if (!headers.has('x-tapgate-ui')) headers.set('x-tapgate-ui', key)
    return fetch(new URL(`api/${name}`, url), { ...init, headers })
  }
  const json = async (name: string, body?: JsonObject): Promise<JsonObject> => {
    const reply = await ask(name, body === undefined ? {} : posted(body))
    return (await reply.json()) as JsonObject
  }
  return { cookie, key, ask, json }
}

export function posted(body: JsonObject): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

export function session(url: URL, body: JsonObject, headers: Record<string, string> = {}): Promise<Response> {
  const init = posted(body)
  return fetch(url, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } })
}

/** The key of a caller. */
export function keyOf(name: string): string {
  return `key-of-the-caller-${name}`
}

/** Callers with keys of theirs, by name, with their scopes. */
export function keysOf(callers: Readonly<Record<string, readonly string[]>>): JsonObject[] {
  return Object.entries(callers).map(([name, scopes]) => {
    const hash = `sha256:${createHash('sha256').update(keyOf(name)).digest('hex')}`
    return { name, hash, scopes: [...scopes] }
  })
}

/** Asks the API with the key of a caller, and without one where there is no name. */
export function askAs(origin: string) {
  return (name: string, path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (name !== '') headers.set('authorization', `Bearer ${keyOf(name)}`)
    return fetch(`${origin}/ui/api/${path}`, { ...init, headers })
  }
}
