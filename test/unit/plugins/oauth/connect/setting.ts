import type { TestContext } from 'node:test'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { AuditEvent, JsonObject, Plugin } from '../../../../../src/plugin.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../../../src/testing/index.ts'
import { freePort } from '../../../../fixtures/free-port.ts'
import { identityProvider, type IdentityProvider } from '../../../../fixtures/people/identity-provider.ts'
import { PlainBrowser, type Visited } from '../../../../fixtures/people/plain-browser.ts'
import { protectedServer, type Denied, type ProtectedServer } from '../../../../fixtures/oauth/protected-server.ts'

export interface Setting {
  readonly gateway: TestGateway
  readonly base: string
  readonly idp: IdentityProvider
  /** Subjects that requests to the server behind were let in as, in order. */
  readonly subjects: string[]
  /** Callers whose tokens the server behind does not take any more. */
  readonly unwanted: Set<string>
  /** Logins as an audit hears of them. */
  readonly recorded: AuditEvent[]
  readonly config: JsonObject
  /** A client of this caller. */
  client(subject: string, options?: object): Promise<TestClient>
}

/** Clients that open pages. */
export const OPENS_PAGES = { elicitation: { form: {}, url: {} } }

/** A gateway before a server that asks each caller to log in, with a real identity provider that is its authorization server too. */
export async function setting(t: TestContext, { upstreams, ...more }: JsonObject = {}): Promise<Setting> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const idp = closeAfter(t, await identityProvider([`${base}/oauth/person`]))
  const subjects: string[] = []
  const unwanted = new Set<string>()
  const url = await loginServer(t, idp, subjects, unwanted)
  const recorded: AuditEvent[] = []
  const witness: Plugin = {
    name: 'witness',
    setup: ({ hooks }) => void hooks.auditEvent.tap(event => void (event.kind === 'login' && recorded.push(event))),
  }
  const config = {
    listeners: { main: { type: 'http', port } },
    upstreams: { files: { type: 'http', url, oauth: { account: 'caller' } }, ...(upstreams as object) },
    auth: { jwt: [{ issuer: idp.issuer, jwks: idp.jwks }], resource: `${base}/mcp` },
    oauth: {
      person: { issuer: idp.issuer, clientId: 'gateway-person', clientSecret: 'person-secret' },
    },
    ...more,
  }
  const gateway = closeAfter(t, await testGateway({ plugins: [witness], config }))
  const client = async (subject: string, options: object = {}): Promise<TestClient> => {
    const headers = { authorization: `Bearer ${await idp.sign(`${base}/mcp`, subject)}` }
    return closeAfter(t, await testClient(gateway, { headers, capabilities: OPENS_PAGES, ...options }))
  }
  return { gateway, base, idp, subjects, unwanted, recorded, config, client }
}

/** An MCP server whose tool says who calls, for whoever has a token of the provider for it. */
async function loginServer(
  t: TestContext,
  idp: IdentityProvider,
  subjects: string[],
  unwanted: ReadonlySet<string>,
): Promise<string> {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => `you are ${subjects.at(-1)}` } }))
  const keys = createRemoteJWKSet(new URL(idp.jwks))
  const known = new Map<string, string>()
  const server: ProtectedServer = closeAfter(
    t,
    await protectedServer({
      behind: behind.url,
      check: token => {
        const subject = token === undefined ? undefined : known.get(token)
        if (subject === undefined || unwanted.has(subject)) return denied(server.origin)
        subjects.push(subject)
        return undefined
      },
      serve: (request, response) => {
        if (!request.url?.startsWith('/.well-known/oauth-protected-resource')) return false
        const body = { resource: server.url, authorization_servers: [idp.issuer], scopes_supported: ['read'] }
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        return true
      },
      async prepare(token) {
        if (token === undefined || known.has(token)) return
        const verified = await jwtVerify(token, keys, { issuer: idp.issuer, audience: server.url }).catch(
          () => undefined,
        )
        if (verified?.payload.sub !== undefined) known.set(token, verified.payload.sub)
      },
    }),
  )
  return server.url
}

function denied(origin: string): Denied {
  const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`
  return { status: 401, challenge: `Bearer resource_metadata="${metadata}"` }
}

/** Logs in at the provider, and consents there, until the browser is somewhere else. */
export async function throughProvider(
  browser: PlainBrowser,
  page: Visited,
  subject: string,
  issuer: string,
): Promise<Visited> {
  let at = page
  for (let turn = 0; turn < 6 && at.url.startsWith(issuer); turn++)
    at = await browser.submit(at, at.text.includes('name="login"') ? { login: subject, password: 'x' } : {})
  return at
}

/** The link that a client was given. */
export function linkIn(said: unknown): string {
  const link = /https?:\/\/[^\s"\\]+\/oauth\/connect\/[\w.-]+/.exec(JSON.stringify(said))?.[0]
  if (link === undefined) throw new Error(`no link in ${JSON.stringify(said)}`)
  return link
}

/** A call of the tool that says who calls. */
export const CALL = { name: 'files__whoami', arguments: {} }

/** Opens a link as somebody, up to the page that asks. */
export async function opened({ idp }: Setting, link: string, subject: string): Promise<[PlainBrowser, Visited]> {
  const browser = new PlainBrowser()
  return [browser, await throughProvider(browser, await browser.open(link), subject, idp.issuer)]
}

/** Makes a whole login. */
export async function loggedIn(made: Setting, link: string, subject: string): Promise<Visited> {
  const [browser, page] = await opened(made, link, subject)
  return throughProvider(browser, await browser.submit(page, { answer: 'allow' }), subject, made.idp.issuer)
}
