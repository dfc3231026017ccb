import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { scene } from './scene.ts'

/** Tokens of the requests of a kind, and a login between the arrival of the first of them and its answer. */
interface Meanwhile {
  readonly tokens: readonly (string | undefined)[]
  readonly loggedIn: Promise<void>
}

function meanwhile({ gate }: LoginServer, isMeant: (body: string) => boolean, logIn: () => Promise<void>): Meanwhile {
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

test('a call that went out without a token while somebody logged in is sent again with it, and runs once', async t => {
  const at = await scene(t)
  const { gateway, server } = at
  server.gate.isFree = body => !isCall(body)
  await gateway.start()
  await gateway.settled()
  const { tokens, loggedIn } = meanwhile(server, isCall, () => at.logIn())

  const answer = await at.call()

  await loggedIn
  assert.match(answer, /paid 1/)
  assert.equal(at.runs(), 1)
  const [access] = server.given
  assert.deepEqual(tokens, [undefined, access])
})

test('where the token of that login is refused too, the call is sent no third time, and wants a login', async t => {
  const at = await scene(t)
  const { gateway, server } = at
  server.gate.isFree = body => !isCall(body)
  await gateway.start()
  await gateway.settled()
  const { tokens, loggedIn } = meanwhile(server, isCall, async () => {
    await at.logIn()
    server.good.clear()
  })

  const answer = await at.call()

  await loggedIn
  assert.match(answer, /needs a login: the server rejected the token/)
  assert.equal(at.runs(), 0)
  const [access] = server.given
  assert.deepEqual(tokens, [undefined, access])
})

test('a connection whose first request went out without a token while somebody logged in is made with it', async t => {
  const at = await scene(t)
  const { gateway, server } = at
  let before = 0
  const { tokens, loggedIn } = meanwhile(
    server,
    body => body !== '',
    async () => {
      await at.logIn()
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
  assert.match(await at.call(), /paid 1/)
})
