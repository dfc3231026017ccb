import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { CALLBACK_LISTENER, CALLBACK_SPEC } from '../../../plugins/agents/callback.ts'
import type { ListenerConfig } from '../../../src/api/index.ts'
import type { Config, JsonObject, Plugin } from '../../../src/plugin.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestGateway,
  type TestUpstream,
} from '../../../src/testing/index.ts'
import { listEndpoints } from '../../../src/listeners/http/listener-settings.ts'
import { VERBS } from '../../../src/gateway/control-verbs.ts'
import { startIssuer, type Issuer } from '../../proof/access/issuer.ts'
import { refused } from '../listeners/http/network.ts'
import { hashOf } from '../rules/keys.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

/** All that somebody gets on a path who is not let in, and somebody who is, but may use nothing. */
type Verdict = 'live' | 'ready' | 'metadata' | 'callers only'

/** Every path that the gateway serves has its verdict here; a path without one fails the test. */
const VERDICTS: Readonly<Record<string, Verdict>> = {
  '/livez': 'live',
  '/healthz': 'live',
  '/readyz': 'ready',
  '/.well-known/oauth-protected-resource/mcp': 'metadata',
  '/mcp': 'callers only',
  '/mcp/small': 'callers only',
  '/sse': 'callers only',
  '/messages': 'callers only',
  '/ws': 'callers only',
  '/metrics': 'callers only',
  '/tools': 'callers only',
  '/tools/call': 'callers only',
  '/openapi.json': 'callers only',
  '/small/tools': 'callers only',
  '/small/tools/call': 'callers only',
  '/small/openapi.json': 'callers only',
}
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const SECRET_NAMES = /hidden-server|hidden-tool|gone/

interface Everything {
  readonly gateway: TestGateway
  readonly web: TestUpstream
  /** By listener, the paths that the code serves there. */
  readonly paths: ReadonlyMap<string, readonly string[]>
}

/** A gateway with everything on that has a path, and the paths as its own code has them. */
async function everything(t: TestContext): Promise<Everything> {
  const issuer = await startIssuer()
  cleanup(t, () => issuer.close())
  const tools = { 'hidden-tool': () => 'gone' }
  const web = closeAfter(t, await testUpstream({ tools }))
  const directory = await mkdtemp(join(tmpdir(), 'routes-'))
  await mkdir(join(directory, 'work'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  let config: Config | undefined
  const reader: Plugin = { name: 'reader', setup: api => void (config = api.config) }
  const options = {
    upstreams: { 'hidden-server': web },
    plugins: [reader],
    directory,
    config: {
      listeners: { main: { type: 'http', port: 0, sse: {}, ws: {} } },
      auth: authWith(issuer),
      profiles: { small: { upstreams: ['hidden-server'] } },
      agents: { roots: ['work'], list: { coder: { command: process.execPath, callback: true } } },
      rest: {},
      metrics: {},
    },
  }
  const gateway = closeAfter(t, await testGateway(options))
  assert.ok(config !== undefined)
  return { gateway, web, paths: await pathsOf(gateway, config) }
}

function authWith(issuer: Issuer): JsonObject {
  return {
    keys: [
      { name: 'boss', hash: hashOf('boss') },
      { name: 'nobody', hash: hashOf('nobody') },
    ],
    jwt: [{ issuer: issuer.url, jwks: issuer.jwks }],
    resource: 'https://gateway.example/mcp',
    rules: [{ upstreams: '*', principals: ['boss'] }],
  }
}

/** Lists the paths that each listener serves by itself, and those that plugins tap. */
async function pathsOf({ gateway }: TestGateway, config: Config): Promise<Everything['paths']> {
  const { hooks } = await gateway.inspect()
  const tapped = (hooks.http ?? []).map(({ key }) => key ?? '')
  const specs: Readonly<Record<string, ListenerConfig>> = {
    ...config.listeners,
    [CALLBACK_LISTENER]: CALLBACK_SPEC,
  }
  const found = gateway.listeners.map(({ name }) => {
    const spec = specs[name]
    const own = spec?.type === 'http' ? listEndpoints(spec, Object.keys(config.profiles ?? {})) : undefined
    return [name, [...(own ?? assert.fail(name)).keys(), ...tapped]] as const
  })
  return new Map(found)
}

describe('every path that the gateway serves', () => {
  it('has a verdict, and no verdict is of a path that is gone', async t => {
    const { paths } = await everything(t)
    const served = new Set([...paths.values()].flat())
    assert.deepEqual([...served].sort(), Object.keys(VERDICTS).sort())
  })

  for (const [who, headers] of Object.entries<Readonly<Record<string, string>>>({
    'who shows nothing': {},
    'who shows a wrong key': { authorization: 'Bearer wrong' },
    'who shows a password': { authorization: `Basic ${btoa('boss:boss')}` },
    'who claims to be somebody in a header': {
      'x-forwarded-user': 'boss',
      'x-session-id': 'boss',
      'x-principal': 'boss',
      forwarded: 'for=127.0.0.1',
      'x-forwarded-for': '127.0.0.1',
    },
  }))
    it(`gives ${who} nothing but whether we live`, async t => {
      const { gateway, paths } = await everything(t)
      for (const { name, url = '' } of gateway.gateway.listeners)
        for (const path of paths.get(name) ?? [])
          for (const method of METHODS) {
            const reply = await ask(url, method, path, headers)
            assert.doesNotMatch(reply.text, SECRET_NAMES, `${method} ${path}`)
            if (method === 'OPTIONS') assert.equal(reply.status, 204)
            else assertVerdict(verdictOf(name, path), `${name} ${method} ${path}`, reply)
          }
      const url = new URL('/ws', gateway.url)
      assert.equal(await refused(url, { headers }), 401)
    })

  it('gives who may use nothing no name of what is there', async t => {
    const { gateway, paths } = await everything(t)
    const headers = { authorization: 'Bearer nobody' }
    for (const path of [...paths.values()].flat())
      for (const method of ['GET', 'POST'])
        for (const body of method === 'GET' ? [undefined] : BODIES) {
          if (path === '/sse' && method === 'GET') continue
          const { text, status } = await ask(gateway.url, method, path, headers, body)
          if (path !== '/metrics' && path !== '/readyz')
            assert.doesNotMatch(text, /gone|"name":"hidden/, `${method} ${path} ${text}`)
          assert.ok(status < 500, `${method} ${path} ${status}`)
        }
  })

  it('has no way to add, start or stop a server over HTTP, and none to the verbs of the owner', async t => {
    const { gateway, paths } = await everything(t)
    const { hooks } = await gateway.gateway.inspect()
    const verbs = [...VERBS.keys(), ...(hooks.control ?? []).map(({ key }) => key ?? '')]
    assert.ok(verbs.includes('upstream.stop') && verbs.includes('cache.purge'))
    const headers = { authorization: 'Bearer boss' }
    const before = JSON.stringify((await gateway.gateway.inspect()).upstreams.map(({ name }) => name))
    for (const path of [...paths.values()].flat())
      for (const verb of verbs) {
        if (VERDICTS[path] !== 'callers only') continue
        const params = {
          upstream: 'hidden-server',
          name: 'new',
          type: 'stdio',
          command: 'touch',
          args: ['x'],
        }
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: verb, params, verb })
        const { status, text } = await ask(gateway.url, 'POST', path, headers, body)
        assert.ok(status >= 400 || /"error"/.test(text), `${path} ${verb} ${status} ${text}`)
      }
    for (const path of ['/control', '/admin', '/servers', '/upstreams', '/api/servers', '/config', '/reload'])
      for (const method of ['GET', 'POST', 'PUT'])
        assert.equal((await ask(gateway.url, method, path, headers)).status, 404, path)
    assert.equal(JSON.stringify((await gateway.gateway.inspect()).upstreams.map(({ name }) => name)), before)
  })
})

it('headers by which processes of ours, proxies or browsers vouch for somebody reach no server', async t => {
  const { gateway, web } = await everything(t)
  const own = {
    authorization: 'Bearer boss',
    cookie: 'session=1',
    'proxy-authorization': 'Basic x',
    'x-tapgate-handed': '["main","127.0.0.1"]',
    'x-forwarded-user': 'root',
    'x-forwarded-for': '10.0.0.1',
    'x-principal': 'root',
    'mcp-session-id': 'made-up',
  }
  const client = closeAfter(t, await testClient(gateway, { headers: own }))
  await client.request('tools/call', { name: 'hidden-server__hidden-tool', arguments: {} })

  const [call] = web.listCalls('tools/call')
  assert.ok(call !== undefined)
  for (const name of Object.keys(own)) assert.equal(call.headers[name], undefined, name)
})

/** Bodies that could do something on one path or another. */
const BODIES = [
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  '{"name":"hidden-server__hidden-tool","arguments":{}}',
]

interface Got {
  readonly status: number
  readonly text: string
  readonly challenge: string | null
}

async function ask(
  url: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? undefined : BODIES[1],
): Promise<Got> {
  const both = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const all = body === undefined ? { accept: '*/*', ...headers } : { ...both, ...headers }
  const response = await fetch(new URL(path, url), { method, headers: all, ...(body && { body }) })
  const text = await response.text()
  return { status: response.status, text, challenge: response.headers.get('www-authenticate') }
}

/** The door of agents gives others nothing but whether we live; the description of tokens is not of it. */
function verdictOf(listener: string, path: string): Verdict {
  const verdict = VERDICTS[path] ?? assert.fail(`${path} has no verdict`)
  return listener === CALLBACK_LISTENER && verdict === 'metadata' ? 'callers only' : verdict
}

function assertVerdict(verdict: Verdict, what: string, { status, text, challenge }: Got): void {
  const said = `${what}: ${status} ${text}`
  if (verdict === 'callers only') {
    assert.equal(status, 401, said)
    assert.match(challenge ?? '', /^Bearer/, said)
    return
  }
  const [, method] = what.split(' ')
  if (method !== 'GET') return assert.ok(status === 405 || (method === 'HEAD' && text === ''), said)
  assert.equal(status, 200, said)
  assert.deepEqual(Object.keys(JSON.parse(text) as JsonObject).sort(), TOLD[verdict], said)
}

/** All that a stranger is told. */
const TOLD = {
  live: ['status'],
  ready: ['ready'],
  metadata: ['authorization_servers', 'bearer_methods_supported', 'resource', 'scopes_supported'],
}
