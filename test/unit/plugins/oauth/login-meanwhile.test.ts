import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { loginServer, type LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { stateOf } from './vault/kit.ts'

interface Place {
  readonly gateway: Gateway
  readonly server: LoginServer
  /** Number of times that the tool ran. */
  readonly runs: () => number
}

/** A gateway that nobody has logged in to its server, whose tool must not run twice. */
async function place(t: TestContext): Promise<Place> {
  let runs = 0
  const tools = { pay: () => `paid ${String(++runs)}` }
  const behind = closeAfter(t, await testUpstream({ tools }))
  const server = closeAfter(t, await loginServer(behind.url))
  const upstreams = { web: { type: 'http', url: server.url, oauth: {} } }
  const gateway = await createGateway({ version: 1, state: { directory: stateOf(t) }, upstreams })
  cleanup(t, () => gateway.close())
  return { gateway, server, runs: () => runs }
}

/** Tokens of the requests of a kind, and a login between the arrival of the first of them and its answer. */
interface Meanwhile {
  readonly tokens: readonly (string | undefined)[]
  readonly loggedIn: Promise<void>
}

function meanwhile(
  { gate }: LoginServer,
  isMeant: (body: string) => boolean,
  logIn: () => Promise<void>,
): Meanwhile {
  const arrived = Promise.withResolvers<void>()
  const loggedIn = arrived.promise.then(logIn)
  const tokens: (string | undefined)[] = []
  gate.before = (token, body) => {
    if (!isMeant(body) || tokens.push(token) > 1) return
    arrived.resolve()
    return loggedIn
  }
  return { tokens, loggedIn }
}

const isCall = (body: string): boolean => body.includes('"method":"tools/call"')

async function logIn({ gateway }: Place): Promise<void> {
  const redirectUri = 'http://127.0.0.1:9/oauth/callback'
  const begun = await gateway.control('login.begin', { upstream: 'web', redirectUri })
  const back = await fetch(String(begun.url), { redirect: 'manual' })
  await gateway.control('login.finish', { url: back.headers.get('location') })
}

async function called(gateway: Gateway): Promise<string> {
  const client = await gateway.connect()
  try {
    return JSON.stringify(await client.request('tools/call', { name: 'web__pay' }))
  } catch (error) {
    return String(error)
  }
}

test('a call that went out without a token while somebody logged in is sent again with it, and runs once', async t => {
  const at = await place(t)
  const { gateway, server } = at
  server.gate.isFree = body => !isCall(body)
  await gateway.start()
  await gateway.settled()
  const { tokens, loggedIn } = meanwhile(server, isCall, () => logIn(at))

  const answer = await called(gateway)

  await loggedIn
  assert.match(answer, /paid 1/)
  assert.equal(at.runs(), 1)
  const [access] = server.given
  assert.deepEqual(tokens, [undefined, access])
})

test('where the token of that login is refused too, the call is sent no third time, and wants a login', async t => {
  const at = await place(t)
  const { gateway, server } = at
  server.gate.isFree = body => !isCall(body)
  await gateway.start()
  await gateway.settled()
  const { tokens, loggedIn } = meanwhile(server, isCall, async () => {
    await logIn(at)
    server.good.clear()
  })

  const answer = await called(gateway)

  await loggedIn
  assert.match(answer, /needs a login: it refuses the token/)
  assert.equal(at.runs(), 0)
  const [access] = server.given
  assert.deepEqual(tokens, [undefined, access])
})

test('a connection whose first request went out without a token while somebody logged in is made with it', async t => {
  const at = await place(t)
  const { gateway, server } = at
  let before = 0
  const { tokens, loggedIn } = meanwhile(
    server,
    body => body !== '',
    async () => {
      await logIn(at)
      before = tokens.length
    },
  )

  await gateway.start()
  await loggedIn
  await gateway.settled()

  const { state } = gateway.upstreams.get('web')?.status() ?? {}
  assert.equal(state, 'ready')
  const [access] = server.given
  assert.deepEqual(new Set(tokens.slice(before)), new Set([access]))
  assert.match(await called(gateway), /paid 1/)
})
