// A gateway before scripted agents, in a directory of its own that outlives it.
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.ts'
import { isObject, type JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, type TestClient } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const AGENT = fileURLToPath(new URL('../../../fixtures/acp/agent.mjs', import.meta.url))

export interface AgentsSetting {
  readonly directory: string
  /** Directory that tasks work in. */
  readonly work: string
  /** A gateway with these agents; one at a time. */
  start(agents: JsonObject, config?: JsonObject): Promise<{ gateway: Gateway; url: string }>
  /** All that a scripted agent is run with; its sessions outlive it. */
  agent(settings?: JsonObject, ...flags: string[]): JsonObject
  client(url: string, options?: Parameters<typeof testClient>[1]): Promise<TestClient>
}

export async function agentsSetting(t: TestContext): Promise<AgentsSetting> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'agents-')))
  const work = join(directory, 'work')
  await mkdir(work)
  const open: Gateway[] = []
  // Timers of the clock keep no process alive, and tests wait for them.
  const awake = setInterval(() => undefined, 1000)
  cleanup(t, async () => {
    clearInterval(awake)
    await Promise.all(open.map(gateway => gateway.close()))
    await rm(directory, { recursive: true, force: true })
  })
  return {
    directory,
    work,
    async start(agents, config = {}) {
      const source = {
        version: 1,
        shutdown: { grace: 100 },
        listeners: { main: { type: 'http', port: 0 } },
        agents: { roots: ['work'], ...agents },
        ...config,
      }
      const environment = { PATH: process.env.PATH }
      const gateway = await createGateway(source, { directory, state: join(directory, 'state'), environment })
      open.push(gateway)
      await gateway.start()
      await gateway.settled()
      return { gateway, url: gateway.listeners.find(({ name }) => name === 'main')?.url ?? '' }
    },
    agent: (settings = {}, ...flags) => ({
      command: process.execPath,
      args: ['--disable-warning=ExperimentalWarning', AGENT, '--store', join(directory, 'sessions'), ...flags],
      ...settings,
    }),
    client: async (url, options) => closeAfter(t, await testClient(url, options)),
  }
}

/** All that a tool says to programs. */
export function told(result: unknown): JsonObject {
  if (isObject(result) && isObject(result.structuredContent)) return result.structuredContent
  throw new Error(JSON.stringify(result))
}

/** Calls a tool to its end. */
export async function tool(client: TestClient, name: string, args: JsonObject): Promise<JsonObject> {
  const { result, error } = await client.request('tools/call', { name, arguments: args })
  if (result === undefined) throw new Error(JSON.stringify(error))
  return told(result)
}
