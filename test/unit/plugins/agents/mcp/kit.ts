import type { TestContext } from 'node:test'
import type { CallbackTokens } from '../../../../../plugins/agents/callback.ts'
import { setUp } from '../../../../../plugins/agents/setup.ts'
import type { AgentsConfig, AgentSettings } from '../../../../../plugins/agents/settings.ts'
import { parseConfig } from '../../../../../src/config/index.ts'
import { type Clock, type JsonObject, type Plugin, type PluginApi, type Principal } from '../../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, type TestClient } from '../../../../../src/testing/index.ts'
import { parseTaskSettings, LocalTaskService, type TaskView } from '../../../../../plugins/agents/tasks/service.ts'
import type { QuestionAnswer, TaskCaller, TaskRequest, TurnEnd } from '../../../../../plugins/agents/types.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { until } from '../../../../fixtures/until.ts'
import {
  CANCELLED,
  CONTAINMENT,
  END,
  FakeHost,
  OPTIONS,
  REFERENCED,
  call as toolCall,
  type Turn,
} from '../tasks/kit.ts'
import { SILENT } from '../../install.ts'

/** A modern client that can be asked, and takes tasks. */
export const DECLARED = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }

export { told as facts } from '../setting.ts'

/** And in words. */
export function words(result: JsonObject): string {
  return (result.content as { text: string }[]).map(({ text }) => text).join('\n')
}

interface Begun {
  readonly view: TaskView
  readonly request: TaskRequest
  readonly caller: TaskCaller
}

type OpenTurn = Turn & { end(end: TurnEnd): void }

/** The real service before one agent, which does what the test says. */
export class ScriptedService extends LocalTaskService {
  readonly begun: Begun[] = []
  readonly answers: { readonly task: string; readonly question: string; readonly answer: QuestionAnswer }[] = []
  readonly cancelled: string[] = []
  readonly #turns: Map<string, OpenTurn>
  readonly #waiting: ((begun: Begun) => void)[] = []

  constructor(agent: JsonObject) {
    const turns = new Map<string, OpenTurn>()
    const play = (turn: Turn): Promise<TurnEnd> =>
      new Promise(end => {
        turns.set(turn.session, { ...turn, end })
        void turn.cancelled.then(() => end(CANCELLED))
      })
    const host = new FakeHost('ada', play, {
      capabilities: ['review'],
      permissions: { default: 'ask' },
      limits: { concurrent: 200 },
      ...agent,
    })
    const environment = { file: undefined, log: SILENT, now: Date.now, clock: REFERENCED, hide: (text: string) => text }
    super(environment, {
      agents: new Map([['ada', host]]),
      routing: undefined,
      tasks: parseTaskSettings({ max: 1000, maxPerCaller: 200, keepPrompt: true }),
      containment: CONTAINMENT,
      callback: undefined,
    })
    this.#turns = turns
  }

  /** Resolves with the next task that is delegated. */
  next(): Promise<Begun> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  get last(): Begun {
    const begun = this.begun.at(-1)
    if (begun === undefined) throw new Error('nothing was delegated')
    return begun
  }

  override async delegate(request: TaskRequest, caller: TaskCaller): Promise<TaskView> {
    const view = await super.delegate(request, caller)
    this.begun.push({ view, request, caller })
    this.#waiting.shift()?.({ view, request, caller })
    return view
  }

  override answerQuestion(...given: Parameters<LocalTaskService['answerQuestion']>): TaskView {
    const view = super.answerQuestion(...given)
    const [task, , question, answer] = given
    this.answers.push({ task, question, answer })
    return view
  }

  override cancel(id: string, owner: string, reason: string): boolean {
    const isCancelled = super.cancel(id, owner, reason)
    if (isCancelled) this.cancelled.push(id)
    return isCancelled
  }

  now(id: string): TaskView {
    const view = this.view(id, this.findOwner(id) ?? '')
    if (view === undefined) throw new Error(`no task ${id}`)
    return view
  }

  /** The turn that the agent has with this task, once it has begun. */
  async turn(id: string): Promise<OpenTurn> {
    let turn: OpenTurn | undefined
    await until(() => (turn = this.#turns.get(this.now(id).sessionId ?? '')) !== undefined)
    if (turn === undefined) throw new Error(`no turn of ${id}`)
    return turn
  }

  async complete(id: string, text: string): Promise<void> {
    const { side, end } = await this.turn(id)
    side.update({ is: 'text', text })
    end(END)
  }

  /** The agent asks for a permission; resolves with the id of the question. */
  async ask(id: string, title = 'May it?'): Promise<string> {
    const { side } = await this.turn(id)
    void side.permission({ call: toolCall({ title }), options: OPTIONS })
    await until(() => this.now(id).questions.length > 0)
    return this.now(id).questions[0]?.id ?? ''
  }

  /** Resolves when the task has this state. */
  async reaches(id: string, state: TaskView['state']): Promise<void> {
    await until(() => this.now(id).state === state)
  }
}

export interface Setting {
  readonly service: ScriptedService
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

/** A gateway with the tools before a service with one agent of the test's own. */
export async function faceSetting(
  t: TestContext,
  agent: JsonObject = {},
  { config = {}, section = {}, clock }: Given = {},
): Promise<Setting> {
  const service = new ScriptedService(agent)
  cleanup(t, () => service.stop())
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
