import type { TestContext } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { closeAfter, testClient, testUpstream } from '../../../src/testing/index.ts'
import { loginServer, type LoginServer } from '../../fixtures/oauth/login-server.ts'
import { directory, serving, type Serving } from '../cli/run.ts'

type Tools = NonNullable<NonNullable<Parameters<typeof testUpstream>[0]>['tools']>

/** Variables of a shell that can open no browser. */
export const NO_BROWSER = { DISPLAY: '', WAYLAND_DISPLAY: '' }

/** A directory with the gateway.yaml of one server, `web`. */
export interface Before {
  readonly cwd: string
  readonly config: Readonly<Record<string, unknown>>
}

/** Makes a gateway.yaml before a test server that has these tools. */
export async function beforeServer(t: TestContext, tools: Tools, more: object = {}): Promise<Before> {
  const web = closeAfter(t, await testUpstream({ tools }))
  const config = {
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { web: { type: 'http', url: web.url } },
    ...more,
  }
  return { cwd: await directory(t, { 'gateway.yaml': JSON.stringify(config) }), config }
}

/** A gateway whose only server, `web`, wants a login. Nothing opens a browser there. */
export interface BehindLogin {
  readonly cwd: string
  readonly server: LoginServer
  readonly env: NodeJS.ProcessEnv
}

/** Makes one; before the `server` of another one, where that is given. */
export async function behindLogin(t: TestContext, more = '', server?: LoginServer): Promise<BehindLogin> {
  const login = server ?? (await serverBehindLogin(t))
  const yaml = `
listeners: { main: { type: http, port: 0 } }
state: { directory: state }
upstreams:
  web: { type: http, url: "${login.url}", oauth: {} }
${more}`
  return { cwd: await directory(t, { 'gateway.yaml': yaml }), server: login, env: NO_BROWSER }
}

async function serverBehindLogin(t: TestContext): Promise<LoginServer> {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
  return closeAfter(t, await loginServer(behind.url))
}

/** Runs `gateway login`, plays the browser, and gives what comes of it. */
export async function loggingIn(
  t: TestContext,
  { cwd, env }: Pick<BehindLogin, 'cwd' | 'env'>,
  args: readonly string[] = [],
): Promise<Serving> {
  const login = serving(t, ['login', 'web', ...args], { cwd, env })
  await visit(await pageOf(login))
  return login
}

/** The page that a login waits for. */
export async function pageOf(login: Pick<Serving, 'stderr' | 'exit'>): Promise<string> {
  for (;;) {
    const [found] = /https?:\/\/127\.0\.0\.1:\d+\/authorize\S*/.exec(login.stderr()) ?? []
    if (found !== undefined) return found
    const ended = await Promise.race([login.exit, passed(20)])
    if (ended !== undefined) throw new Error(`it ended with ${String(ended)}: ${login.stderr()}`)
  }
}

/** Text of the answer to a call of `web__whoami` with an API key. */
export async function callAs(url: string, key: string): Promise<string> {
  const client = await testClient(url, { headers: { authorization: `Bearer ${key}` } })
  const reply = await client.request('tools/call', { name: 'web__whoami', arguments: {} })
  await client.close()
  return JSON.stringify(reply)
}

/** A browser that follows where it is sent. */
export async function visit(url: string): Promise<Response> {
  return fetch(url, { redirect: 'follow' })
}
