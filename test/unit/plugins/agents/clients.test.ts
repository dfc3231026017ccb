// The faces of a task, as clients that nobody here wrote see them.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  toolDeclarationFromMcpTool,
  type RawClientDispatch,
} from '@modelcontextprotocol/ext-tasks/client'
import { fetch } from 'undici'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { readMessages } from '../../../../src/testing/messages.ts'
import { agentsSetting, told, type AgentsSetting } from './setting.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const ALLOW = { action: 'accept' as const, content: { decision: 'allow' } }
const EDIT = { prompt: '[[ask edit a.txt]]' }

async function setting(t: TestContext): Promise<{ url: string; around: AgentsSetting }> {
  const around = await agentsSetting(t)
  const permissions = { default: 'ask' }
  const { url } = await around.start({ list: { ada: around.agent({ permissions }) } })
  return { url, around }
}

function written({ work }: AgentsSetting): Promise<string | undefined> {
  return readFile(join(work, 'a.txt'), 'utf8').catch(() => undefined)
}

test('a client of SDK v1 is asked on its stream, and cancels what it does not want', async t => {
  const { url, around } = await setting(t)
  const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } })
  const asked: string[] = []
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params.message)
    return ALLOW
  })
  await client.connect(new TransportV1(new URL(url)))
  cleanup(t, () => client.close())

  const result = await client.callTool({ name: 'delegate_task', arguments: EDIT })
  assert.equal(told(result).state, 'completed')
  assert.equal(asked.length, 1)
  assert.notEqual(await written(around), undefined)
  const gaveUp = new AbortController()
  const hanging = client.callTool({ name: 'delegate_task', arguments: { prompt: '[[hang]]' } }, undefined, {
    signal: gaveUp.signal,
    onprogress: () => undefined,
  })
  await state(client, 'running')
  gaveUp.abort()
  await assert.rejects(hanging)
  await state(client, 'cancelled')
})

/** Waits until the newest task is in this state. */
async function state(client: ClientV1, wanted: string): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const { tasks } = told(await client.callTool({ name: 'agent_status', arguments: {} }))
    if ((tasks as { state: string }[])[0]?.state === wanted) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`it never was ${wanted}`)
}

test('a modern client of SDK v2 is asked between two calls, and delegates into the background', async t => {
  const { url, around } = await setting(t)
  const client = new ClientV2(
    { name: 'v2', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  client.setRequestHandler('elicitation/create', () => ALLOW)
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  cleanup(t, () => client.close())

  const result = await client.callTool({ name: 'delegate_task', arguments: EDIT })
  assert.equal(told(result).state, 'completed')
  assert.notEqual(await written(around), undefined)
  const begun = told(
    await client.callTool({
      name: 'delegate_task',
      arguments: { prompt: '[[sleep 50]][[say done]]', background: true },
    }),
  )
  const { task_id } = begun
  const ended = told(await client.callTool({ name: 'agent_status', arguments: { task_id, wait_ms: 20_000 } }))
  assert.deepEqual([ended.state, ended.text], ['completed', 'done'])
})

test("the tasks client of the protocol's own follows a task", async t => {
  const { url } = await setting(t)
  const info = { name: 'ext-tasks', version: '1' }
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const client = new ClientV2(info, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  cleanup(t, () => client.close())
  const session = createTaskSessionFromClient(client, {
    endpointId: 'here',
    rawDispatch: dispatchTo(url),
    v2RequestFraming: { protocolVersion: '2026-07-28', clientInfo: info, clientCapabilities: capabilities },
  })
  const tool = (await client.listTools()).tools.find(({ name }) => name === 'delegate_task')
  assert.ok(tool)

  const execution = await session.callTool(
    'delegate_task',
    { prompt: '[[sleep 600]][[say followed]]' },
    { declaration: toolDeclarationFromMcpTool(tool), task: { preference: 'prefer' } },
  )
  const { outcome } = await execution.settle()
  await session.close()

  assert.equal(execution.kind, 'task')
  assert.equal(told(resultFromTaskOutcome(outcome)).text, 'followed')
})

/** The way around the SDK that the package wants in 2026-07-28: one request, its answer. */
function dispatchTo(url: string): RawClientDispatch {
  let id = 0
  return async request => {
    const { method, params } = request as { method: string; params?: { name?: string; taskId?: string } }
    const name = params?.name ?? params?.taskId
    const response = await fetch(url, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name }),
      },
    })
    for await (const { result, error } of readMessages(response)) {
      if (result !== undefined) return { kind: 'result', result: result as JsonValue }
      if (error !== undefined) return { kind: 'error', error: error as { code: number; message: string } }
    }
    throw new Error('no answer')
  }
}

type JsonValue = Extract<Awaited<ReturnType<RawClientDispatch>>, { kind: 'result' }>['result']
