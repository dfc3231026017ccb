import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import type { RealAgents } from '../fixtures/agents/install.ts'
import type { ModelRequest } from '../fixtures/model/server.ts'
import { processesWith } from '../fixtures/processes.ts'
import { startChild, type Child } from '../peers/child.ts'
import { LAUNCHER, requireBuild } from '../peers/gateway.ts'
import { connectV2, type ClientEra } from '../peers/sdk-v2-client.ts'

/** A task as clients read it, as far as tests look at it. */
export interface Told {
  readonly task_id: string
  readonly state: string
  readonly why?: string
  readonly agent?: string
  readonly session_id?: string
  readonly text: string
  readonly denied: readonly string[]
  readonly warnings: readonly string[]
  readonly questions: readonly { readonly question_id: string; readonly kind: string }[]
}

/** User of the gateway, who allows or denies what agents ask for. */
export interface User {
  readonly client: Client
  /** Forms that were shown. */
  readonly asked: string[]
  decision: 'allow' | 'deny'
  call(tool: string, args: object, signal?: AbortSignal): Promise<Told>
  /** Delegates, and follows the task to its end. */
  delegate(args: object): Promise<Told>
  /** Follows a task until `isSo`. */
  follow(task: string, isSo: (told: Told) => boolean): Promise<Told>
}

const MODEL = fileURLToPath(new URL('../fixtures/model/server.ts', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('../../examples/agents-real/gateway.yaml', import.meta.url))
/** A machine may be slow: nothing here is about how fast it is. */
const LONG = '5m'
const CALL_MS = 240_000
const GONE_MS = 10_000

export const hasEnded = ({ state }: Told): boolean => ['completed', 'failed', 'cancelled'].includes(state)

/** The example as users run it, with a model of our own and a directory that is gone at the end. */
export class World {
  readonly directory = mkdtempSync(join(tmpdir(), 'real-agents-'))
  readonly work = join(this.directory, 'work')
  readonly #agents: RealAgents
  readonly #model = startChild(MODEL, [])
  #modelUrl = ''
  #gateway: Child | undefined
  #url = ''
  readonly #users: Client[] = []

  constructor(agents: RealAgents) {
    this.#agents = agents
    mkdirSync(this.work)
  }

  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    requireBuild()
    if (this.#modelUrl === '')
      this.#modelUrl = await this.#model.line(line => (line.startsWith('http') ? line : undefined), CALL_MS)
    const { opencode: OPENCODE, gemini: GEMINI } = this.#agents
    const STATE = join(this.directory, 'state')
    const own = { MODEL_URL: this.#modelUrl, OPENCODE, GEMINI, STATE, WORK: this.work }
    const set = ['listeners.main.port=0', ...PHASES.map(phase => `agents.defaults.timeouts.${phase}=${LONG}`)]
    const args = ['serve', '-c', EXAMPLE, ...set.flatMap(each => ['--set', each])]
    this.#gateway = startChild(LAUNCHER, args, {
      ...process.env,
      XDG_STATE_HOME: this.directory,
      ...own,
      ...env,
    })
    this.#url = await this.#gateway.line(line => /"main".*"(http:[^"]*)"/.exec(line)?.[1], CALL_MS)
  }

  async user(era: ClientEra = 'legacy'): Promise<User> {
    const client = await connectV2({ url: this.#url }, era, { capabilities: { elicitation: { form: {} } } })
    this.#users.push(client)
    return userWith(client)
  }

  /** All that the model was asked, with this in the prompt. */
  async asked(part: string): Promise<ModelRequest[]> {
    const all = (await (await fetch(`${this.#modelUrl}/requests`)).json()) as ModelRequest[]
    return all.filter(({ script, path }) => script.includes(part) && !path.endsWith(':generateContent'))
  }

  /** Resolves when what the model was asked is so. */
  async untilAsked(part: string, isSo: (requests: ModelRequest[]) => boolean): Promise<void> {
    const until = performance.now() + CALL_MS
    while (!isSo(await this.asked(part))) {
      assert.ok(performance.now() < until, `the model was not asked so: ${part}`)
      await pause(50)
    }
  }

  /** Hosts that were asked for beside the model. */
  async elsewhere(): Promise<string[]> {
    return (await (await fetch(`${this.#modelUrl}/elsewhere`)).json()) as string[]
  }

  async kill(): Promise<void> {
    const gateway = this.#gateway
    assert.ok(gateway)
    const gone = new Promise(resolve => gateway.process.once('exit', resolve))
    gateway.process.kill('SIGKILL')
    await gone
  }

  async stop(): Promise<void> {
    await Promise.all(this.#users.splice(0).map(client => client.close().catch(() => undefined)))
    await this.#gateway?.stop(60_000)
  }

  /** Whatever the gateway and its agents have started has our directory in its environment. */
  async left(): Promise<string[]> {
    const until = performance.now() + GONE_MS
    for (;;) {
      const found = processesWith(this.directory)
      if (found.length === 0 || performance.now() > until) return found.map(({ pid, command }) => `${pid} ${command}`)
      await pause(100)
    }
  }

  async end(): Promise<void> {
    await this.stop()
    await this.#model.stop()
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

const PHASES = ['initialize', 'session', 'firstUpdate', 'cancel']

function userWith(client: Client): User {
  const asked: string[] = []
  const call = async (name: string, args: object, signal?: AbortSignal): Promise<Told> => {
    const options = { timeout: CALL_MS, ...(signal === undefined ? {} : { signal }) }
    const { structuredContent, content } = await client.callTool({ name, arguments: { ...args } }, options)
    assert.ok(structuredContent, JSON.stringify(content))
    return structuredContent as unknown as Told
  }
  const user: User = {
    ...{ client, asked, call, decision: 'allow' },
    async delegate(args) {
      const told = await call('delegate_task', args)
      return user.follow(told.task_id, hasEnded)
    },
    async follow(task_id, isSo) {
      for (;;) {
        const told = await call('agent_status', { task_id, wait_ms: 5000 })
        if (isSo(told)) return told
        // A turn that took longer than a call may be open asks here, and not in a form.
        const [question] = told.questions.filter(({ kind }) => kind === 'permission')
        if (question === undefined) continue
        asked.push(JSON.stringify(question))
        const content = { decision: user.decision }
        await call('agent_reply', { task_id, question_id: question.question_id, content, wait_ms: 0 })
      }
    },
  }
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message)
    return Promise.resolve({ action: 'accept', content: { decision: user.decision } })
  })
  return user
}
