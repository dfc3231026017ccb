import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, TestClock, testGateway, type TestGateway } from '../../../src/testing/index.ts'
import { script } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const ROOTS_SERVER = { type: 'stdio', command: process.execPath, args: [script('roots-server.mjs')] }

interface Seen {
  readonly last: unknown
  readonly asked: number
  readonly told: number
  readonly declared: unknown
}

/** A client of SDK v1 that declares roots, and counts how often it was asked for them. */
class RootsClient {
  readonly client: Client
  asked = 0
  roots: readonly string[]
  /** All that it answers with; forever pending for a client that never does. */
  reply = async (): Promise<void> => undefined

  constructor(roots: readonly string[] | undefined) {
    this.roots = roots ?? []
    const capabilities = roots === undefined ? {} : { roots: { listChanged: true } }
    this.client = new Client({ name: 'rooted', version: '1' }, { capabilities })
    if (roots !== undefined)
      this.client.setRequestHandler(ListRootsRequestSchema, async () => {
        this.asked++
        await this.reply()
        return { roots: this.roots.map(uri => ({ uri })) }
      })
  }

  async change(roots: readonly string[]): Promise<void> {
    this.roots = roots
    await this.client.sendRootsListChanged()
  }

  async call(name: string): Promise<string> {
    const { content } = await this.client.callTool({ name, arguments: {} })
    return (content as { text: string }[])[0]?.text ?? ''
  }

  async seen(server = 'it'): Promise<Seen> {
    return JSON.parse(await this.call(`${server}__seen`)) as Seen
  }

  /** Facts that the server was told, once they were the same for longer than changes are gathered. */
  async settled(): Promise<Seen> {
    for (let last = await this.seen(); ; last = await this.seen()) {
      await new Promise(resolve => setTimeout(resolve, 300))
      if (isDeepStrictEqual(await this.seen(), last)) return last
    }
  }

  /** Waits until the server was told what fits. */
  async sees(fits: (seen: Seen) => boolean, server = 'it'): Promise<Seen> {
    for (;;) {
      const seen = await this.seen(server)
      if (fits(seen)) return seen
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

/** A gateway whose clients are inside the process; nobody else can come. */
async function gatewayWith(
  t: TestContext,
  upstreams: JsonObject,
  config: JsonObject = {},
  clock?: TestClock,
): Promise<TestGateway> {
  const own = { listeners: {}, lists: { grace: 50 }, ...config, upstreams }
  return closeAfter(t, await testGateway({ config: own, settle: false, ...(clock && { clock }) }))
}

async function join(t: TestContext, { gateway }: TestGateway, roots?: readonly string[]): Promise<RootsClient> {
  const rooted = new RootsClient(roots)
  await rooted.client.connect(gateway.transport())
  cleanup(t, () => rooted.client.close())
  return rooted
}

/** Resolves when this upstream was refused so many asks, as nobody could tell whose they were. */
async function refused({ gateway }: TestGateway, name: string, times = 1): Promise<void> {
  while ((gateway.upstreams.get(name)?.status().dropped?.ask ?? 0) < times)
    await new Promise(resolve => setTimeout(resolve, 20))
}

function told(...uris: string[]): (seen: Seen) => boolean {
  return ({ last }) => JSON.stringify(last) === JSON.stringify(uris)
}

test('with two clients a server that starts learns the roots of neither', async t => {
  const gateway = await gatewayWith(t, { it: { ...ROOTS_SERVER, start: 'lazy' } })
  const one = await join(t, gateway, ['file:///one'])
  const two = await join(t, gateway, ['file:///two'])

  void gateway.gateway.control('upstream.start', { upstream: 'it' })
  await refused(gateway, 'it')

  const { last } = await one.seen('it')
  assert.deepEqual(last, [])
  assert.deepEqual([one.asked, two.asked], [0, 0])
})

test('when the other client has gone, the server is told to ask the one that is left', async t => {
  const gateway = await gatewayWith(t, { it: ROOTS_SERVER })
  const one = await join(t, gateway, ['file:///one'])
  await one.sees(told('file:///one'))
  const two = await join(t, gateway, ['file:///two'])

  await one.client.close()

  await two.sees(told('file:///two'))
})

test('a server outside the profile of the client never learns its roots, and those inside do', async t => {
  const config = { profiles: { default: { upstreams: ['inside'] } } }
  const gateway = await gatewayWith(t, { inside: ROOTS_SERVER, outside: ROOTS_SERVER }, config)
  const rooted = await join(t, gateway, ['file:///mine'])
  await rooted.sees(told('file:///mine'), 'inside')
  await rooted.change(['file:///other'])
  await rooted.sees(told('file:///other'), 'inside')

  await refused(gateway, 'outside')
  assert.equal(rooted.asked, 2)
})

test('where clients can come by the network, a shared server learns the roots of none', async t => {
  const config = { listeners: { main: { type: 'http', port: 0 } } }
  const gateway = await gatewayWith(t, { it: ROOTS_SERVER }, config)
  const rooted = await join(t, gateway, ['file:///one'])
  await refused(gateway, 'it')
  await rooted.change(['file:///two'])

  assert.deepEqual((await rooted.seen()).last, [])
  assert.equal(rooted.asked, 0)
})

test('with isolation: session each server learns the roots of its own client, and of its changes alone', async t => {
  const config = { listeners: { main: { type: 'http', port: 0 } } }
  const gateway = await gatewayWith(t, { it: { ...ROOTS_SERVER, isolation: 'session' } }, config)
  const one = await join(t, gateway, ['file:///one'])
  const two = await join(t, gateway, ['file:///two'])
  await Promise.all([one.sees(told('file:///one')), two.sees(told('file:///two'))])

  await one.change(['file:///changed'])

  await one.sees(told('file:///changed'))
  assert.deepEqual((await two.seen()).last, ['file:///two'])
  assert.equal((await two.seen()).told, 0)
})

test('a client that never answers holds up no call, and the server hears so after ten seconds', async t => {
  const clock = new TestClock()
  const gateway = await gatewayWith(t, { it: ROOTS_SERVER }, {}, clock)
  const rooted = new RootsClient(['file:///mine'])
  const asked = new Promise<void>(resolve => {
    rooted.reply = () => (resolve(), new Promise(() => undefined))
  })
  await rooted.client.connect(gateway.gateway.transport())
  cleanup(t, () => rooted.client.close())
  await asked

  assert.equal((await rooted.seen()).last, 'nothing yet')
  clock.advance(10_000)

  await rooted.sees(({ last }) => last === 'error -32603')
})
