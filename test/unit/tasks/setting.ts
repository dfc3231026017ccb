import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject, Plugin } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, type TestClient, type TestGateway } from '../../../src/testing/index.ts'
import { taskServer } from '../../fixtures/tasks.ts'
import type { TestUpstream } from '../../../src/testing/index.ts'

export const TASKS = 'io.modelcontextprotocol/tasks'
export const DECLARED = { elicitation: { form: {} }, extensions: { [TASKS]: {} } }
const TERMINAL = ['completed', 'failed', 'cancelled']

export interface Setting {
  readonly gateway: TestGateway
  /** A modern client that takes tasks. */
  readonly modern: TestClient
  /** A modern client that does not. */
  readonly plain: TestClient
  legacy(capabilities?: JsonObject): Promise<TestClient>
}

/** A gateway before one server, whose tools keep their names. */
export async function settingFor(
  t: TestContext,
  server: { url: string } & AsyncDisposable,
  plugins: readonly Plugin<never>[] = [],
  more: JsonObject = {},
): Promise<Setting> {
  closeAfter(t, server)
  const config = { upstreams: { t: { type: 'http', url: server.url, prefix: '' } }, ...more }
  const gateway = closeAfter(t, await testGateway({ config, plugins }))
  const client = async (era: 'modern' | 'legacy', capabilities: JsonObject): Promise<TestClient> =>
    closeAfter(t, await testClient(gateway, { era, capabilities }))
  return {
    gateway,
    modern: await client('modern', DECLARED),
    plain: await client('modern', { elicitation: { form: {} } }),
    legacy: (capabilities = {}) => client('legacy', capabilities),
  }
}

/** The same before the fixture of this era. */
export async function taskSetting(
  t: TestContext,
  era: 'modern' | 'legacy',
  plugins: readonly Plugin<never>[] = [],
  more: JsonObject = {},
): Promise<Setting & { server: TestUpstream }> {
  const server = await taskServer(era)
  return { ...(await settingFor(t, server, plugins, more)), server }
}

/** All that a client calls as a task, in the way of its era, and the id that it is told. */
export async function begin(client: TestClient, name: string, args: JsonObject = {}, ttl = 60_000): Promise<string> {
  const task = client.era === 'legacy' ? { task: { ttl } } : {}
  const { result, error } = await client.request('tools/call', { name, arguments: args, ...task })
  const created = (client.era === 'legacy' ? result?.task : result) as JsonObject | undefined
  if (typeof created?.taskId !== 'string') throw new Error(`no task: ${JSON.stringify(error ?? result)}`)
  return created.taskId
}

/** Looks until the task is in this state, or has ended. */
export async function until(client: TestClient, taskId: string, status = 'completed'): Promise<JsonObject> {
  for (let looks = 0; looks < 200; looks++) {
    const { result, error } = await client.request('tasks/get', { taskId })
    if (result === undefined) throw new Error(JSON.stringify(error))
    if (result.status === status || TERMINAL.includes(String(result.status))) return result
    await pause(20)
  }
  throw new Error(`the task never became ${status}`)
}
