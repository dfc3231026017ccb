import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestReply,
  type TestClient,
  type TestClock,
  type TestGateway,
  type TestUpstream,
} from '../../../../src/testing/index.ts'
import type { AuditEvent, JsonObject, Plugin } from '../../../../src/plugin.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

export const FORMS = { elicitation: { form: {} } }

export interface Setting {
  readonly pay: TestUpstream
  readonly gateway: TestGateway
  readonly events: AuditEvent[]
  /** Amounts that the server was told to send. */
  readonly sent: () => unknown[]
}

/** A gateway that asks about every `pay__send`, with the events that an audit would keep. */
export async function setting(
  t: TestContext,
  approve: object | undefined,
  more: { era?: 'modern' | 'legacy'; clock?: TestClock; config?: object; run?: () => unknown } = {},
): Promise<Setting> {
  const events: AuditEvent[] = []
  const recorder: Plugin<never> = {
    name: 'recorder',
    setup: ({ hooks }) => hooks.auditEvent.tap(event => void events.push(event)),
  }
  const pay = closeAfter(
    t,
    await testUpstream({
      era: more.era ?? 'modern',
      tools: { send: more.run ?? (() => 'sent'), look: () => 'seen' },
      prompts: { bill: () => 'a bill' },
      capabilities: { completions: {} },
      methods: { 'completion/complete': () => ({ completion: { values: [] } }) },
    }),
  )
  const policy = { ask: [{ for: 'pay__send', when: 'true', name: 'money' }, 'prompt.name == "pay__bill"'] }
  const config = { policy, ...(approve === undefined ? {} : { approve }), ...more.config }
  const { clock } = more
  const gateway = closeAfter(
    t,
    await testGateway({
      upstreams: { pay },
      plugins: [recorder],
      config,
      ...(clock === undefined ? {} : { clock }),
    }),
  )
  const sent = (): unknown[] =>
    pay.listCalls('tools/call').map(({ params }) => (params?.arguments as JsonObject | undefined)?.amount)
  return { pay, gateway, events, sent }
}

/** A client of 2026-07-28, for which each request is an HTTP request of its own. */
export async function connect(
  t: TestContext,
  gateway: TestGateway,
  capabilities: JsonObject = FORMS,
): Promise<TestClient> {
  return closeAfter(t, await testClient(gateway, { era: 'modern', capabilities }))
}

export function callOf(amount: number): JsonObject {
  return { name: 'pay__send', arguments: { amount } }
}

/** The same call again, with what the person filled in. */
export function retryOf(call: JsonObject, first: TestReply, content: JsonObject, action = 'accept'): JsonObject {
  const { inputRequests, requestState } = first.result as { inputRequests: JsonObject; requestState: string }
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map(key => [key, { action, content }]))
  return { ...call, requestState, inputResponses }
}

export function textOf({ result, error }: TestReply): string {
  const [block] = (result?.content ?? []) as { text?: string }[]
  return block?.text ?? error?.message ?? JSON.stringify(result)
}

export function outcomes(events: readonly AuditEvent[]): string[] {
  return events.filter(({ kind }) => kind === 'permission').map(({ outcome }) => outcome)
}

/** The secret that a webhook and the gateway have in common. */
export const SECRET = 'a secret of these tests that is long enough'

/** Headers by which a webhook says that a body is its own. */
export function sign(body: string, at = Date.now()): Record<string, string> {
  const timestamp = String(at)
  return { 'x-tapgate-timestamp': timestamp, 'x-tapgate-signature': signatureOf(timestamp, body) }
}

function signatureOf(timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')}`
}

interface Said {
  readonly body: string
  readonly headers?: Record<string, string>
}

/** A webhook: what it was told, each with a signature of the gateway, and what it answers. */
export async function webhook(
  t: TestContext,
  answer: (told: JsonObject) => Said | Promise<Said> = () => ({ body: '' }),
): Promise<{ url: string; told: JsonObject[] }> {
  const told: JsonObject[] = []
  const server = createServer((request, response) => {
    void text(request).then(async body => {
      const { 'x-tapgate-timestamp': timestamp, 'x-tapgate-signature': signature } = request.headers
      assert.equal(signature, signatureOf(String(timestamp), body))
      const call = JSON.parse(body) as JsonObject
      told.push(call)
      const said = await answer(call)
      response.writeHead(200, said.headers).end(said.body)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanup(t, () => new Promise(resolve => server.close(resolve)))
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`, told }
}
