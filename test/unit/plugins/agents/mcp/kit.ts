import type { TestContext } from 'node:test'
import type { CallbackTokens } from '../../../../../plugins/agents/callback.ts'
import { setUp } from '../../../../../plugins/agents/setup.ts'
import type { AgentsConfig, AgentSettings } from '../../../../../plugins/agents/settings.ts'
import { parseConfig } from '../../../../../src/config/index.ts'
import {
  type Clock,
  isObject,
  type JsonObject,
  type Plugin,
  type PluginApi,
  type Principal,
} from '../../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, type TestClient } from '../../../../../src/testing/index.ts'
import { HandDesk } from '../tasks/hand-desk.ts'

/** A modern client that can be asked, and takes tasks. */
export const DECLARED = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** All that a tool says to programs. */
export function facts(result: JsonObject): JsonObject {
  if (!isObject(result.structuredContent)) throw new Error(JSON.stringify(result))
  return result.structuredContent
}

/** And in words. */
export function words(result: JsonObject): string {
  return (result.content as { text: string }[]).map(({ text }) => text).join('\n')
}

export interface Setting {
  readonly service: HandDesk
  readonly callback: CallbackTokens
  readonly gateway: Awaited<ReturnType<typeof testGateway>>
  readonly settings: readonly AgentSettings[]
  client(options?: Parameters<typeof testClient>[1]): Promise<TestClient>
}

interface Given {
  readonly config?: JsonObject
  readonly section?: JsonObject
  readonly clock?: Clock
}

/** A gateway with the face before a desk of the test's own. */
export async function faceSetting(
  t: TestContext,
  agent: JsonObject = {},
  { config = {}, section = {}, clock }: Given = {},
): Promise<Setting> {
  const service = new HandDesk()
  let callback: CallbackTokens | undefined
  let settings: readonly AgentSettings[] = []
  const written = { list: { ada: { command: 'ada', ...agent } }, ...section }
  const { agents } = parseConfig({ version: 1, agents: written }, { directory: '.' }).config
  const face: Plugin = {
    name: 'agents-by-hand',
    setup(api) {
      const given = { ...api, options: agents } as PluginApi<AgentsConfig>
      setUp(given, (_api, all, callbackTokens) => {
        callback = callbackTokens
        settings = all
        const nothing = (): Promise<void> => Promise.resolve()
        return { service, start: nothing, stop: nothing, applyConfig: () => undefined, figures: () => [] }
      })
    },
  }
  const gateway = closeAfter(
    t,
    await testGateway({ config, plugins: [BY_HEADER, face], ...(clock === undefined ? {} : { clock }) }),
  )
  if (callback === undefined) throw new Error('the face was not set up')
  const client: Setting['client'] = async options => closeAfter(t, await testClient(gateway, options))
  return { service, callback, gateway, settings, client }
}

/** Whoever calls by this name, where a test lets the header say it. */
export const BY_HEADER: Plugin = {
  name: 'by-header',
  setup({ hooks }) {
    hooks.authenticate.tap({ listeners: ['main'] }, ({ header }): Principal | undefined => {
      const [subject] = header('x-who')
      return subject === undefined ? undefined : { issuer: 'test', client: '', subject, scopes: [] }
    })
  },
}

export async function call(client: TestClient, name: string, args: JsonObject): Promise<JsonObject> {
  const reply = await client.request('tools/call', { name, arguments: args })
  if (reply.result === undefined) throw new Error(JSON.stringify(reply.error))
  return reply.result
}
