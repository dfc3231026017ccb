import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { callOf, connect, outcomes, retryOf, setting, textOf } from './setting.ts'

describe('a call that was approved, and whose server wants to know more', () => {
  const wants = (state: string): JsonObject => ({
    resultType: 'input_required',
    requestState: state,
    inputRequests: {
      more: {
        method: 'elicitation/create',
        params: { mode: 'form', message: 'more?', requestedSchema: { type: 'object', properties: {} } },
      },
    },
  })
  /** Asks twice before it sends. */
  const curious = (_args: JsonObject, { params }: { params: JsonObject }): JsonObject | string =>
    params.requestState === undefined ? wants('1') : params.requestState === '1' ? wants('2') : 'sent'
  const YES_TO_ALL = { approve: true }

  test('goes on without another approval, however often it asks', async t => {
    const { gateway, events } = await setting(t, {}, { run: curious as () => unknown })
    const client = await connect(t, gateway)
    let reply = await client.request('tools/call', callOf(7))
    for (let round = 0; round < 3; round++)
      reply = await client.request('tools/call', retryOf(callOf(7), reply, YES_TO_ALL))

    assert.equal(textOf(reply), 'sent')
    assert.deepEqual(outcomes(events), ['approved'])
  })

  test('does not go on with arguments that another reader takes for others', async t => {
    const { gateway, pay, events } = await setting(t, {}, { run: curious as () => unknown })
    const client = await connect(t, gateway)
    const first = await client.request('tools/call', callOf(7))
    const second = await client.request('tools/call', retryOf(callOf(7), first, YES_TO_ALL))
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
    const other = { name: 'pay__send', arguments: { amount: rawJSON('7.00000000000000000001') } }

    const third = await client.request('tools/call', retryOf(other, second, YES_TO_ALL))

    assert.match(textOf(third), /a number in its arguments cannot be shown exactly/)
    assert.equal(pay.listCalls('tools/call').length, 1)
    assert.deepEqual(outcomes(events), ['approved', 'unavailable'])
  })

  for (const [what, become] of [
    ['the rules', { policy: { ask: [{ for: 'pay__*', when: 'true', name: 'all' }] } }],
    ['nothing', {}],
  ] as const)
    test(`is asked about ${what === 'nothing' ? 'no more' : 'anew'} where ${what} changed between its rounds`, async t => {
      const { gateway, events } = await setting(t, {}, { run: curious as () => unknown })
      const client = await connect(t, gateway)
      const first = await client.request('tools/call', callOf(7))
      const second = await client.request('tools/call', retryOf(callOf(7), first, YES_TO_ALL))
      const { config } = gateway.gateway.generation.loaded
      await gateway.gateway.reload({ ...config, ...become })

      const third = await client.request('tools/call', retryOf(callOf(7), second, YES_TO_ALL))

      const asks = JSON.stringify(third.result?.inputRequests)
      assert.equal(/Run \\"pay__send\\"/.test(asks), what === 'the rules', asks)
      assert.deepEqual(outcomes(events), ['approved'])
    })

  test('holds where a reload failed, whose rules never came into force', async t => {
    const { gateway, sent } = await setting(t, {})
    const client = await connect(t, gateway)
    const { config } = gateway.gateway.generation.loaded
    const failing = {
      ...config,
      policy: { ...config.policy, ask: [{ for: 'pay__*', when: 'true', name: 'all' }] },
      listeners: { ...config.listeners, other: { type: 'http', port: Number(new URL(gateway.url).port) } },
    }
    await assert.rejects(gateway.gateway.reload(failing))

    const first = await client.request('tools/call', callOf(7))
    const second = await client.request('tools/call', retryOf(callOf(7), first, YES_TO_ALL))

    assert.equal(textOf(second), 'sent')
    assert.deepEqual(sent(), [7])
  })
})
