import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AskReply, ClientDescription } from '../../../src/api/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { type Heard, type Peer, legacy, modern, peer, refusal, result, said } from '../fixtures/http-peer.ts'
import {
  type TestCall,
  bench,
  callOf,
  fixture,
  httpSpec,
  isAlive,
  script,
  stdioSpec,
  textOf,
} from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

/** A process on a busy machine may take seconds to start: of so long a time it has five for the first answer. */
const MATCH = { era: 'match', startupTimeout: '30s' } as const
const MODERN = { era: 'modern', version: '2026-07-28' } as const
/** A client that can be asked for a form. */
const ASKABLE = { capabilities: { elicitation: {} } }
const DECLINES = async (): Promise<AskReply> => ({ result: { action: 'decline' } })
const EVERYTHING = fixture('everything.mjs')

describe('a server of both eras, with `era: match`', { concurrency: 4 }, () => {
  it('on HTTP is spoken to in the era of the client that calls', async t => {
    const server = await dualServer(t)
    const { upstream } = await bench(t, httpSpec(server.url, MATCH))

    await upstream.dispatch(tool({ ...ASKABLE, ...MODERN }))
    await upstream.dispatch(tool(ASKABLE))
    await upstream.dispatch(tool(ASKABLE))

    assert.deepEqual(server.of('tools/call').map(eraOf), ['modern', 'legacy', 'legacy'])
    assert.equal(server.of('initialize').length, 1, 'one session')
  })

  it('is spoken to in its modern era for clients that can be asked for nothing, and for lists', async t => {
    const server = await dualServer(t)
    const { upstream } = await bench(t, httpSpec(server.url, MATCH))

    await upstream.dispatch(tool({ capabilities: {} }))
    await upstream.dispatch(callOf('tools/list', undefined, ASKABLE))

    assert.equal(server.of('initialize').length, 0)
    assert.equal(upstream.server?.era, 'modern')
  })

  it('is not taken for another server, whatever errors it answers in the legacy era', async t => {
    const server = await dualServer(t, (heard, response) =>
      refusal(response, 400, heard, -32022, 'Unsupported protocol version'),
    )
    const { upstream, states } = await bench(t, httpSpec(server.url, MATCH))

    for (let round = 0; round < 3; round++)
      assert.ok('error' in (await upstream.dispatch(tool(ASKABLE))), 'the error is passed on')

    assert.equal(server.of('server/discover').length, 1)
    assert.deepEqual(states, ['starting', 'ready'])
  })

  it('on a pipe that all clients share has one process in the modern era', async t => {
    const { upstream } = await bench(t, stdioSpec([EVERYTHING, '--stdio', '--pushing'], MATCH))

    await upstream.dispatch(tool(ASKABLE))

    assert.deepEqual(
      upstream.runtime?.instances.map(({ era }) => era),
      [undefined],
    )
  })

  it('on a pipe of each session is spoken to in the era of its client', async t => {
    const it = await bench(t, stdioSpec([EVERYTHING, '--stdio', '--pushing'], { ...MATCH, isolation: 'session' }))
    const { upstream, asked } = it
    it.reply = DECLINES

    const answer = await upstream.dispatch(elicitation(ASKABLE))

    assert.match(textOf(answer), /^User response: /)
    assert.equal(asked.length, 1)
    const pids = upstream.runtime?.instances.map(({ pid }) => pid) ?? []
    assert.equal(pids.length, 2)
    await upstream.stop()
    await until(() => pids.every(pid => pid !== undefined && !isAlive(pid)), 'both processes end')
  })
})

describe('a server of the modern era alone, with `era: match`', { concurrency: 4 }, () => {
  it('is asked once for the legacy era, and then spoken to in its own', async t => {
    const server = await modernServer(t)
    const { upstream } = await bench(t, httpSpec(server.url, MATCH))

    const answers = await Promise.all([tool(ASKABLE), tool(ASKABLE)].map(call => upstream.dispatch(call)))
    answers.push(await upstream.dispatch(tool(ASKABLE)))

    assert.deepEqual(answers.map(textOf), ['ok', 'ok', 'ok'])
    assert.equal(server.of('initialize').length, 1)
    assert.equal(upstream.runtime?.lastError, undefined, 'it is no trouble')
  })

  it('on a pipe that ends at `initialize` is not tried for ever', async t => {
    const spec = stdioSpec([script('crashing/ends-at-initialize.mjs')], {
      ...MATCH,
      isolation: 'session',
      startupTimeout: '5m',
    })
    const { upstream, logs } = await bench(t, spec)

    for (let round = 0; round < 3; round++) assert.equal(textOf(await upstream.dispatch(tool(ASKABLE))), 'ok')

    const starts = logs.filter(({ fields }) => fields.state === 'starting').length
    assert.equal(starts, 2, 'one in the legacy era, then one for the session')
  })
})

/** Both eras under one address, told apart by the header that modern requests carry. */
function dualServer(t: Parameters<typeof peer>[0], inLegacy?: Parameters<typeof legacy>[0]): Promise<Peer> {
  const answer: Parameters<typeof legacy>[0] = (heard, response) => result(response, heard, said('ok'))
  const young = modern(answer)
  const old = legacy(inLegacy ?? answer)
  return peer(t, (heard, response) => (eraOf(heard) === 'modern' ? young : old)(heard, response))
}

function modernServer(t: Parameters<typeof peer>[0]): Promise<Peer> {
  return peer(
    t,
    modern((heard, response) => {
      if (eraOf(heard) === 'modern') result(response, heard, said('ok'))
      else refusal(response, 400, heard, -32022, 'Unsupported protocol version')
    }),
  )
}

function eraOf({ headers }: Heard): string {
  return headers['mcp-method'] === undefined ? 'legacy' : 'modern'
}

function tool(client: Partial<ClientDescription>, name = 'echo', args: JsonObject = {}, id = 'a-session'): TestCall {
  return callOf('tools/call', { name, arguments: args }, client, {}, { id })
}

function elicitation(client: Partial<ClientDescription>, id?: string): TestCall {
  return tool(client, 'test_elicitation', { message: 'who are you?' }, id)
}
