import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createKey } from '../../../../src/cli/scaffold.ts'
import { check } from '../../../../plugins/approve/index.ts'
import { TestClock } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { callOf, connect, outcomes, retryOf, SECRET, setting, sign, textOf, webhook } from './setting.ts'

const YES = { approve: true }

describe('a client of 2026-07-28 over stateless HTTP', () => {
  for (const era of ['modern', 'legacy'] as const)
    test(`is asked by a form, and its retry runs the call once, before a ${era} server`, async t => {
      const { gateway, events, sent } = await setting(t, {}, { era })
      const client = await connect(t, gateway)

      const first = await client.request('tools/call', callOf(7))
      assert.equal(first.result?.resultType, 'input_required')
      const [ask] = Object.values(first.result.inputRequests as Record<string, { params: { message: string } }>)
      assert.match(ask?.params.message ?? '', /Run "pay__send"\?.*"money".*\{"amount":7\}/)
      assert.deepEqual(sent(), [])
      const retry = async (): Promise<string> =>
        textOf(await client.request('tools/call', retryOf(callOf(7), first, YES)))
      const texts = [...(await Promise.all([retry(), retry(), retry()])), await retry()]

      assert.equal(texts.filter(text => text === 'sent').length, 1)
      assert.equal(texts.filter(text => /requestState is invalid/.test(text)).length, 3)
      assert.deepEqual(sent(), [7])
      assert.deepEqual(outcomes(events), ['approved'])
    })

  test('cannot run another call, nor that of somebody else, with an approval', async t => {
    const alice = createKey('alice', [])
    const bob = createKey('bob', [])
    const keys = [
      { name: 'alice', hash: alice.hash },
      { name: 'bob', hash: bob.hash },
    ]
    const { gateway, sent } = await setting(t, {}, { config: { auth: { keys } } })
    const client = await connect(t, gateway)
    const as = (key: string): object => ({ headers: { authorization: `Bearer ${key}` } })

    const first = await client.request('tools/call', callOf(7), as(alice.key))
    const other = await client.request('tools/call', retryOf(callOf(8), first, YES), as(alice.key))
    const stolen = await client.request('tools/call', retryOf(callOf(7), first, YES), as(bob.key))
    assert.match(textOf(other), /requestState is invalid/)
    assert.match(textOf(stolen), /requestState is invalid/)
    assert.deepEqual(sent(), [])
    const own = await client.request('tools/call', retryOf(callOf(7), first, YES), as(alice.key))

    assert.equal(textOf(own), 'sent')
    assert.deepEqual(sent(), [7])
  })

  test('reads why a call did not run: declined, not ticked, or too late', async t => {
    const clock = new TestClock()
    const { gateway, events, sent } = await setting(t, { ttl: '1m' }, { clock })
    const client = await connect(t, gateway)
    const answered = async (content: object, action?: string): Promise<string> => {
      const first = await client.request('tools/call', callOf(1))
      return textOf(await client.request('tools/call', retryOf(callOf(1), first, content as never, action)))
    }

    assert.match(await answered({}, 'decline'), /approval_denied/)
    assert.match(await answered({}, 'cancel'), /approval_denied/)
    assert.match(await answered({ approve: false }), /approval_denied/)
    assert.match(await answered({ approve: 'true' }), /approval_denied/)
    const late = await client.request('tools/call', callOf(2))
    clock.advance(60_001)
    assert.match(textOf(await client.request('tools/call', retryOf(callOf(2), late, YES))), /approval_expired/)
    assert.deepEqual(sent(), [])
    assert.deepEqual(outcomes(events), ['denied', 'denied', 'denied', 'denied', 'expired'])
  })

  test('is asked about prompts, and never for what no rule holds', async t => {
    const { gateway } = await setting(t, {})
    const client = await connect(t, gateway)
    const prompt = { name: 'pay__bill' }

    const first = await client.request('prompts/get', prompt)
    assert.equal(first.result?.resultType, 'input_required')
    assert.ok((await client.request('prompts/get', retryOf(prompt, first, YES))).result?.messages)
    const again = await client.request('prompts/get', prompt)
    const refused = await client.request('prompts/get', retryOf(prompt, again, {}, 'decline'))
    assert.deepEqual((refused.error?.data as { reason?: string }).reason, 'approval_denied')
    assert.ok((await client.request('tools/list')).result?.tools)
    const completed = await client.request('completion/complete', {
      ref: { type: 'ref/prompt', name: 'pay__bill' },
      argument: { name: 'who', value: 'a' },
    })
    assert.equal((completed.error?.data as { code?: string }).code, 'GW_POLICY_UNANSWERED')
    assert.equal(textOf(await client.request('tools/call', { name: 'pay__look' })), 'seen')
  })

  test('that shows no forms is refused at once, and so is one with a number that cannot be shown', async t => {
    const { gateway, sent } = await setting(t, {})
    const mute = await connect(t, gateway, {})
    assert.match(textOf(await mute.request('tools/call', callOf(1))), /approval_unavailable/)
    const client = await connect(t, gateway)
    const meta =
      '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}'
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay__send","arguments":{"amount":9007199254740993},${meta}}}`
    const reply = await client.sendRaw(body, { 'mcp-method': 'tools/call', 'mcp-name': 'pay__send' })
    assert.match(textOf(reply), /cannot be shown/)
    assert.deepEqual(sent(), [])
  })

  test('waits with at most so many calls', async t => {
    const { gateway, sent } = await setting(t, { openPerCaller: 2 })
    const client = await connect(t, gateway)
    const first = await client.request('tools/call', callOf(1))
    await client.request('tools/call', callOf(2))

    assert.match(textOf(await client.request('tools/call', callOf(3))), /too many calls are waiting/)
    assert.equal(textOf(await client.request('tools/call', retryOf(callOf(1), first, YES))), 'sent')
    assert.equal((await client.request('tools/call', callOf(4))).result?.resultType, 'input_required')
    assert.deepEqual(sent(), [1])
  })
})

test('a client of 2025-11-25 is asked on its stream, and the call goes on', async t => {
  const { gateway, sent } = await setting(t, {})
  const client = new Client({ name: 'old', version: '1' }, { capabilities: { elicitation: {} } })
  cleanup(t, () => client.close())
  const answers = [true, false]
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { approve: answers.shift() ?? false },
  }))
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)))

  const first = await client.callTool(callOf(7) as never)
  const second = await client.callTool(callOf(8) as never)

  assert.deepEqual(first.content, [{ type: 'text', text: 'sent' }])
  assert.equal(second.isError, true)
  assert.deepEqual(sent(), [7])
})

describe('a decision', () => {
  test('does not hold where the rules are others meanwhile, and the same call is asked about anew', async t => {
    const { gateway, events, sent } = await setting(t, {})
    const client = await connect(t, gateway)
    const first = await client.request('tools/call', callOf(7))
    const { config } = gateway.gateway.generation.loaded
    const ask = [{ for: 'pay__*', when: 'true', name: 'all' }]
    await gateway.gateway.reload({ ...config, policy: { ...config.policy, ask } })

    const late = await client.request('tools/call', retryOf(callOf(7), first, YES))
    assert.match(textOf(late), /approval_expired.*policy rules have changed/)
    assert.deepEqual(sent(), [])
    assert.deepEqual(outcomes(events), ['expired'])
    const anew = await client.request('tools/call', callOf(7))
    assert.equal(textOf(await client.request('tools/call', retryOf(callOf(7), anew, YES))), 'sent')
  })

  test('of the owner lets a call go on that waits, and counts once', async t => {
    const { gateway, events, sent } = await setting(t, { by: ['owner'] })
    const client = await connect(t, gateway, {})
    const verb = async (name: string, params: object = {}): Promise<Record<string, unknown>> =>
      await gateway.gateway.control(name, params as never)
    const waiting = async (): Promise<{ id: string; arguments: string }> => {
      for (;;) {
        const { approvals } = (await verb('approvals.list')) as {
          approvals: { id: string; arguments: string }[]
        }
        if (approvals[0] !== undefined) return approvals[0]
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    }

    const running = client.request('tools/call', callOf(7))
    const open = await waiting()
    assert.equal(open.arguments, '{"amount":7}')
    assert.deepEqual(sent(), [])
    assert.deepEqual(await verb('approvals.approve', { id: open.id }), { decided: 1 })
    assert.equal(textOf(await running), 'sent')
    assert.deepEqual(await verb('approvals.approve', { id: open.id }), { decided: 0 })
    assert.deepEqual(await verb('approvals.deny', { id: 'x' }), { decided: 0 })
    const refused = client.request('tools/call', callOf(8))
    await verb('approvals.deny', { id: (await waiting()).id })
    assert.match(textOf(await refused), /approval_denied/)
    assert.deepEqual(sent(), [7])
    assert.deepEqual(outcomes(events), ['approved', 'denied'])
    assert.equal(events.find(({ outcome }) => outcome === 'approved')?.fields?.by, 'owner')
  })

  test('is not waited for when the gateway is stopping, nor when the client has gone', async t => {
    const { gateway, events, sent } = await setting(t, { by: ['owner'] })
    const client = await connect(t, gateway, {})
    const left = client.start('tools/call', callOf(1))
    const held = client.request('tools/call', callOf(2)).catch(() => undefined)
    const figure = (): number =>
      (gateway.gateway.generation.graph.hooks.getRunner('metrics')?.([]) ?? []).find(
        ({ name }) => name === 'tapgate_approvals_open',
      )?.samples[0]?.value ?? 0
    while (figure() < 2) await new Promise(resolve => setTimeout(resolve, 5))
    await left.cancel()
    while (figure() > 1) await new Promise(resolve => setTimeout(resolve, 5))
    await gateway.gateway.close()
    await held

    assert.deepEqual(sent(), [])
    assert.deepEqual(outcomes(events), ['cancelled', 'unavailable'])
  })
})

describe('a webhook', () => {
  test('decides by a signed answer, and by no other', async t => {
    let isSigned = true
    const { url, told } = await webhook(t, ({ id }) => {
      const body = JSON.stringify({ id, decision: 'approve' })
      return { body, headers: isSigned ? sign(body) : { ...sign(body), 'x-tapgate-signature': 'sha256=0' } }
    })
    const clock = new TestClock()
    const { gateway, sent } = await setting(t, { by: ['webhook'], webhook: { url, secret: SECRET } }, { clock })
    const client = await connect(t, gateway, {})

    assert.equal(textOf(await client.request('tools/call', callOf(7))), 'sent')
    assert.deepEqual(told[0]?.arguments, { amount: 7 })
    isSigned = false
    const held = client.request('tools/call', callOf(8))
    while (told.length < 2) await new Promise(resolve => setTimeout(resolve, 5))
    clock.advance(300_001)
    assert.match(textOf(await held), /approval_expired/)
    assert.deepEqual(sent(), [7])
  })

  test('decides later by a signed callback, once', async t => {
    const { url, told } = await webhook(t)
    const calledBack = { url, secret: SECRET, callback: '/approvals' }
    const { gateway, sent } = await setting(t, { by: ['webhook'], webhook: calledBack })
    const client = await connect(t, gateway, {})
    const post = async (body: string, headers: Record<string, string>): Promise<number> =>
      (await fetch(new URL('/approvals', gateway.url), { method: 'POST', body, headers })).status
    const running = client.request('tools/call', callOf(7))
    while (told.length < 1) await new Promise(resolve => setTimeout(resolve, 5))
    const body = JSON.stringify({ id: told[0]?.id, decision: 'approve' })

    assert.equal(await post(body, {}), 401)
    assert.equal(await post(body, sign(`${body} `)), 401)
    assert.equal(await post(body, { ...sign(body), 'x-tapgate-timestamp': '1700000000000' }), 401)
    for (const ageMs of [301_000, -301_000]) assert.equal(await post(body, sign(body, Date.now() - ageMs)), 401)
    assert.equal(await post('{}', sign('{}')), 400)
    assert.deepEqual(sent(), [])
    assert.equal(await post(body, sign(body)), 200)
    assert.equal(await post(body, sign(body)), 404)
    assert.equal(textOf(await running), 'sent')
    assert.deepEqual(sent(), [7])
  })

  test('that cannot be reached decides nothing', async t => {
    const { gateway, sent } = await setting(t, {
      by: ['webhook'],
      webhook: { url: 'http://127.0.0.1:1/', secret: SECRET },
    })
    const client = await connect(t, gateway, {})

    assert.match(textOf(await client.request('tools/call', callOf(7))), /approval_unavailable/)
    assert.deepEqual(sent(), [])
  })
})

test('a configuration that nobody could decide by is pointed at', () => {
  const pointers = (approve: object): string[] => {
    const found: string[] = []
    check({ approve }, ({ pointer }) => found.push(pointer))
    return found
  }

  assert.deepEqual(pointers({ by: ['webhook'] }), ['/approve/by'])
  assert.deepEqual(pointers({ by: ['client'], webhook: {} }), ['/approve/webhook'])
  assert.deepEqual(pointers({ by: ['client'], ttl: '11m' }), ['/approve/ttl'])
  assert.deepEqual(pointers({ by: ['client'], ttl: 0 }), ['/approve/ttl'])
  assert.deepEqual(pointers({ by: ['client'], ttl: '10m' }), [])
})
