import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { answer, type Plugin } from '../../../../src/plugin.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, TestClock, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { call, type Client, ERAS, texts } from './scene.ts'
import { until } from '../../../fixtures/until.ts'

const PATIENCE = { patience: 50 }
const FORM = { type: 'object', properties: { name: { type: 'string' } } }
const ASK = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: FORM } }
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } }

interface Given {
  readonly shape?: JsonObject
  readonly era?: 'modern' | 'legacy' | 'dual'
  readonly plugins?: readonly Plugin<never>[]
  readonly spec?: JsonObject
  readonly more?: JsonObject
  readonly clock?: TestClock
}

/** A gateway before a server with a tool that ends when the test says so. */
async function slowScene(
  t: TestContext,
  { shape = PATIENCE, era = 'dual', plugins = [], spec = {}, more = {}, clock = new TestClock() }: Given = {},
) {
  const ends: ((text: string) => void)[] = []
  const aborted: unknown[] = []
  const tell: ((message: string) => void)[] = []
  const web = closeAfter(
    t,
    await testUpstream({
      era,
      tools: {
        slow: {
          outputSchema: { type: 'object' },
          run: (_args, { signal, notify, params }) => {
            signal.addEventListener('abort', () => aborted.push(true))
            const token = (params._meta as JsonObject | undefined)?.progressToken
            tell.push(message => {
              notify('notifications/progress', { progressToken: token, progress: tell.length, message })
            })
            return new Promise(resolve => {
              ends.push(text => {
                resolve({ content: [{ type: 'text', text }], structuredContent: { text } })
              })
            })
          },
        },
        quick: () => 'at once',
      },
    }),
  )
  const upstreams = { web: { type: 'http', url: web.url, ...spec } }
  const config = { cache: false as const, shape, upstreams, ...more }
  const gateway = closeAfter(t, await testGateway({ config, plugins, clock }))
  const open = async (options: Parameters<typeof testClient>[1] = {}) =>
    closeAfter(t, await testClient(gateway, options))
  return { web, gateway, open, ends, aborted, tell }
}

function slowHandle(result: JsonObject): string {
  const said = (result._meta as JsonObject)['io.tapgate/result'] as JsonObject
  assert.equal(said.status, 'working')
  return String(said.handle)
}

/** Ends a call at its server, once it has come there. */
async function finish(ends: readonly ((text: string) => void)[], n: number, text: string): Promise<void> {
  await until(() => ends.length > n)
  ends[n]?.(text)
}

async function ended(client: Client, handle: string): Promise<JsonObject> {
  for (;;) {
    const result = await call(client, 'result', { handle })
    if ((result._meta as JsonObject | undefined)?.['io.tapgate/result'] === undefined) return result
  }
}

for (const era of ERAS)
  for (const server of ERAS)
    test(`a ${era} client is answered in time about a slow call of a ${server} server, and gets its answer later`, async t => {
      const { open, ends } = await slowScene(t, { era: server })
      const client = await open({ era })

      const first = await call(client, 'web__slow')
      const handle = slowHandle(first)
      const second = await call(client, 'result', { handle })
      assert.match(texts(second)[0] ?? '', /still running/)
      await finish(ends, 0, 'done at last')
      const last = await ended(client, handle)

      assert.equal(texts(last)[0], 'done at last')
      assert.deepEqual(last.structuredContent, { text: 'done at last' })
      assert.equal(ends.length, 1)
      // Who asks again gets it again.
      assert.deepEqual(texts(await ended(client, handle)), ['done at last'])
      assert.equal(texts(await call(client, 'web__quick'))[0], 'at once')
    })

test('a modern client that knows tasks gets a task, and its result there', async t => {
  const { open, ends } = await slowScene(t)
  const client = await open({ capabilities: TASKS })

  const { result } = await client.request('tools/call', { name: 'web__slow', arguments: {} })
  assert.equal(result?.resultType, 'task')
  const { taskId } = result
  await finish(ends, 0, 'done')
  let state: JsonObject | undefined
  do state = (await client.request('tasks/get', { taskId })).result
  while (state?.status === 'working')

  assert.equal(state?.status, 'completed')
  assert.deepEqual(texts(state.result as JsonObject), ['done'])
})

test('who ends a call that goes on ends it at its server, by the tool or by the task', async t => {
  const { open, aborted, ends } = await slowScene(t)
  const [client, modern] = [await open({ era: 'legacy' }), await open({ capabilities: TASKS })]

  const handle = slowHandle(await call(client, 'web__slow'))
  const cancelled = await call(client, 'result', { handle, cancel: true })
  await until(() => aborted.length === 1)
  const { result } = await modern.request('tools/call', { name: 'web__slow', arguments: {} })
  await modern.request('tasks/cancel', { taskId: result?.taskId })
  await until(() => aborted.length === 2)

  assert.match(JSON.stringify(cancelled.error), /cancelled by the caller/)
  assert.equal(ends.length, 2)
})

test('a client that goes away before its patience is over ends the call; one that was answered does not', async t => {
  const clock = new TestClock()
  const { open, aborted, ends } = await slowScene(t, { shape: { patience: 30_000 }, clock })
  const client = await open()

  const running = client.start('tools/call', { name: 'web__slow', arguments: {} })
  await until(() => ends.length === 1)
  void running.cancel()
  await until(() => aborted.length === 1)
  const answered = call(client, 'web__slow')
  await until(() => ends.length === 2)
  clock.advance(30_000)
  const handle = slowHandle(await answered)
  await finish(ends, 1, 'still there')

  assert.deepEqual(texts(await ended(client, handle)), ['still there'])
  assert.equal(aborted.length, 1)
})

test('the deadline of a server ends a call that goes on', async t => {
  const { open } = await slowScene(t, { spec: { timeout: 300 } })
  const client = await open()

  const handle = slowHandle(await call(client, 'web__slow'))
  const last = await ended(client, handle)

  assert.match(JSON.stringify(last.error), /GW_TIMEOUT/)
})

/** Asks the client in the middle of a call, when the test says so. */
function askingPlugin(): { readonly plugin: Plugin<never>; ask(): void } {
  let ask = (): void => undefined
  const plugin: Plugin<never> = {
    name: 'asking',
    setup({ hooks }) {
      hooks.dispatch.tap({ asks: true }, next => async asked => {
        if (asked.params?.name !== 'slow') return next(asked)
        await new Promise<void>(resolve => (ask = resolve))
        const reply = await asked.exchange.ask(ASK)
        const given = 'result' in reply ? reply.result : { error: reply.error.message }
        return answer({ content: [{ type: 'text', text: JSON.stringify(given) }] })
      })
    },
  }
  return { plugin, ask: () => ask() }
}

test('what a slow call needs of its modern client waits until it comes for it', async t => {
  const asking = askingPlugin()
  const { open } = await slowScene(t, { plugins: [asking.plugin] })
  const client = await open({ capabilities: { elicitation: { form: {} } } })
  const handle = slowHandle(await call(client, 'web__slow'))
  asking.ask()

  const args = { name: 'result', arguments: { handle } }
  let wanted: JsonObject | undefined
  do wanted = (await client.request('tools/call', args)).result
  while (wanted?.inputRequests === undefined)
  const [key = ''] = Object.keys(wanted.inputRequests as JsonObject)
  const inputResponses = { [key]: { action: 'accept', content: { name: 'Ann' } } }
  await client.request('tools/call', { ...args, inputResponses, requestState: wanted.requestState })
  const last = await ended(client, handle)

  assert.match(texts(last)[0] ?? '', /"action":"accept".*"name":"Ann"/)
})

test('a legacy client is asked when it comes for the result, by a real request', async t => {
  const asking = askingPlugin()
  const { gateway } = await slowScene(t, { plugins: [asking.plugin] })
  const client = new Client1({ name: 'asked', version: '1' }, { capabilities: { elicitation: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }))
  await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)))
  cleanup(t, () => client.close())
  const first = (await client.callTool({ name: 'web__slow' })) as JsonObject
  const handle = slowHandle(first)
  asking.ask()

  let last = first
  while ((last._meta as JsonObject | undefined)?.['io.tapgate/result'] !== undefined)
    last = await client.callTool({ name: 'result', arguments: { handle } })

  assert.match(texts(last)[0] ?? '', /"action":"accept".*"name":"Ann"/)
})

test('nobody else learns of a call that goes on', async t => {
  const { open, ends } = await slowScene(t)
  const [one, other] = [await open({ era: 'legacy' }), await open({ era: 'legacy' })]
  const handle = slowHandle(await call(one, 'web__slow'))

  for (const guess of [handle, 'slow-1', '', `${handle}x`])
    assert.equal((await call(other, 'result', { handle: guess, cancel: true })).isError, true)
  await finish(ends, 0, 'for one')

  assert.deepEqual(texts(await ended(one, handle)), ['for one'])
})

test('a slow result is brought into form like any other, and a schema that an answer on the way would break is not shown', async t => {
  const shape = { patience: 50, maxTokens: 300, tools: { web__slow: { pick: 'text' } } }
  const { open, ends } = await slowScene(t, { shape })
  const client = await open()
  const handle = slowHandle(await call(client, 'web__slow'))
  await finish(ends, 0, 'x'.repeat(5000))

  const last = await call(client, 'result', { handle })

  assert.match(texts(last)[0] ?? '', /^"x+\n\[about \d+ tokens omitted; read the complete result/)
  const { result } = await client.request('tools/list')
  assert.equal((result?.tools as JsonObject[]).find(({ name }) => name === 'web__slow')?.outputSchema, undefined)
})

test('a reload leaves a call that goes on alone, and the end of the gateway ends it', async t => {
  const { open, ends, gateway, web, aborted } = await slowScene(t)
  const client = await open({ era: 'legacy' })
  const [one, other] = [slowHandle(await call(client, 'web__slow')), slowHandle(await call(client, 'web__slow'))]

  await gateway.gateway.reload({
    version: 1,
    shutdown: { grace: 100 },
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { web: { type: 'http', url: web.url } },
    cache: false,
    shape: PATIENCE,
  })
  await finish(ends, 0, 'after the reload')
  assert.deepEqual(texts(await ended(client, one)), ['after the reload'])
  assert.match(texts(await call(client, 'result', { handle: other, wait_ms: 0 }))[0] ?? '', /still running/)
  await gateway.gateway.close()
  await until(() => aborted.length === 1)
})
