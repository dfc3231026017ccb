// The client that the official suite examines: the gateway, as it logs in to an upstream.
//   npm run build && npx conformance client --command "node test/compliance/upstream-auth.ts" --suite auth
// The suite runs it with the URL of a server as last argument, and the particulars of a scenario in the environment.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type * as Built from '../../src/index.ts'

// It is started for each scenario: what is built loads in a third of the time.
const ENTRY = new URL('../../dist/src/index.js', import.meta.url).href
const { createGateway, createLog, RpcFailure } = (await import(ENTRY)) as typeof Built

/** A document that authorization servers of the suite know. */
const DOCUMENT = 'https://conformance-test.local/client-metadata.json'
const REDIRECT = 'http://127.0.0.1:9/oauth/callback'
const MAX_LOGINS = 6
const UPSTREAM = 't'

type Context = Readonly<Record<string, string>>

const url = process.argv.at(-1) ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context
const directory = await mkdtemp(join(tmpdir(), 'upstream-auth-'))
const write = (line: string): void => void process.stderr.write(`${line}\n`)
const source = {
  version: 1,
  state: false,
  shutdown: { grace: 100 },
  upstreams: { [UPSTREAM]: { type: 'http', url, oauth: await oauthFor(context) } },
}
const gateway = await createGateway(source, {
  log: createLog({ level: 'debug', format: 'pretty', write }),
  directory,
})
try {
  await gateway.start()
  await gateway.settled()
  await use(gateway)
} finally {
  await gateway.close()
  await rm(directory, { recursive: true, force: true })
}

/** Lists, and calls the tool; logs in whenever the gateway says that somebody must. */
async function use(running: Built.Gateway): Promise<void> {
  for (let logins = 0; ; logins++) {
    const problem = await attempt(running)
    if (problem === undefined) return
    if (!problem.needsLogin || logins === MAX_LOGINS) throw new Error(problem.message)
    await login(running)
  }
}

interface Trouble {
  readonly needsLogin: boolean
  readonly message: string
}

async function attempt(running: Built.Gateway): Promise<Trouble | undefined> {
  const connection = await running.connect()
  try {
    const listed = (await connection.request('tools/list', {})) as { tools: { name: string }[] }
    const [tool] = listed.tools
    if (tool === undefined) return troubleOf(running)
    await connection.request('tools/call', { name: tool.name, arguments: {} })
    return undefined
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error
    const { message, data } = error.error
    return { needsLogin: (data as { code?: string } | undefined)?.code === 'GW_LOGIN_NEEDED', message }
  } finally {
    connection.close()
  }
}

function troubleOf(running: Built.Gateway): Trouble {
  const { state, problem = 'it offers no tool' } = running.upstreams.get(UPSTREAM)?.status() ?? {}
  return { needsLogin: state === 'needs_auth', message: problem }
}

/** Plays the browser of a person who says yes to everything. */
async function login(running: Built.Gateway): Promise<void> {
  const begun = await running.control('login.begin', { upstream: UPSTREAM, redirectUri: REDIRECT })
  let next = String(begun.url)
  for (let hops = 0; !next.startsWith(REDIRECT); hops++) {
    const response = await fetch(next, { redirect: 'manual' })
    const location = response.headers.get('location')
    if (location === null || hops > 10) throw new Error(`the browser ended at ${next} (HTTP ${response.status})`)
    next = new URL(location, next).href
  }
  await running.control('login.finish', { url: next })
  await running.control('upstream.restart', { upstream: UPSTREAM })
  await pause(0)
}

/** The configuration of a scenario, from what the suite says of it. */
async function oauthFor(said: Context): Promise<object> {
  const { client_id: id = DOCUMENT, client_secret: secret, private_key_pem: key, valid_jwt: assertion } = said
  if (assertion !== undefined) return { grant: 'workload', assertionFile: await kept('workload.jwt', assertion) }
  if (said.idp_id_token !== undefined) return enterprise(said)
  const client = { id, ...(secret === undefined ? {} : { secret }) }
  if (key !== undefined) {
    const keyFile = await kept('client.pem', key)
    return { grant: 'client-credentials', client: { id, keyFile, algorithm: said.signing_algorithm } }
  }
  const isMachine = /client-credentials/.test(process.env.MCP_CONFORMANCE_SCENARIO ?? '')
  return isMachine ? { grant: 'client-credentials', client } : { client }
}

async function enterprise(said: Context): Promise<object> {
  const file = await kept('id-token.jwt', said.idp_id_token ?? '')
  return {
    grant: 'id-jag',
    client: { id: said.client_id, secret: said.client_secret },
    subject: { file, type: 'id_token' },
    identityProvider: {
      issuer: said.idp_issuer,
      tokenEndpoint: said.idp_token_endpoint,
      client: { id: said.idp_client_id },
    },
  }
}

async function kept(name: string, text: string): Promise<string> {
  const file = join(directory, name)
  await writeFile(file, text, { mode: 0o600 })
  return file
}
