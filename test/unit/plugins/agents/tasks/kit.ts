import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { AgentHost } from '../../../../../plugins/agents/acp/agent-host.ts'
import type { AgentSession } from '../../../../../plugins/agents/acp/session.ts'
import type { Containment } from '../../../../../plugins/agents/containment.ts'
import {
  AgentFailure,
  type AgentToolCall,
  type TaskCaller,
  type SessionRequest,
  type SessionHandler,
  type TaskRequest,
  type TurnEnd,
} from '../../../../../plugins/agents/types.ts'
import { type AgentsConfig, resolveSettings } from '../../../../../plugins/agents/settings.ts'
import { parseTaskSettings, LocalTaskService, type TaskView } from '../../../../../plugins/agents/tasks/service.ts'
import type { ServiceDeps } from '../../../../../plugins/agents/tasks/context.ts'
import type { AuditEvent, Clock, Log } from '../../../../../src/plugin.ts'
import { systemClock } from '../../../../../src/util/clock.ts'
import { SILENT } from '../../install.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

type AgentConfig = AgentsConfig['list'][string]

/** One prompt that a fake agent got, and all it can do about it. */
export interface Turn {
  readonly text: string
  readonly side: SessionHandler
  readonly session: string
  readonly how: 'new' | 'resumed'
  /** Resolves when the turn is cancelled. */
  readonly cancelled: Promise<void>
}

export type Play = (turn: Turn) => Promise<TurnEnd>

export const END: TurnEnd = { stopReason: 'end_turn', usage: undefined }
export const CANCELLED: TurnEnd = { stopReason: 'cancelled', usage: undefined }

/** An agent in memory: it says what it is told to. */
export class FakeHost implements AgentHost {
  readonly settings
  health: AgentHost['health'] = { state: 'ready' }
  readonly processes = 0
  readonly prompts: string[] = []
  readonly wishes: SessionRequest[] = []
  /** Sessions that it still knows. */
  readonly sessions = new Set<string>()
  onOpen: (() => void) | undefined
  probes = 0
  #play: Play

  constructor(id: string, play: Play, config: Partial<AgentConfig> = {}) {
    const usual = { command: 'fake', args: [], enabled: true, capabilities: [] }
    this.settings = resolveSettings(id, { ...usual, ...config })
    this.#play = play
  }

  async openSession(wanted: SessionRequest): Promise<AgentSession> {
    this.wishes.push(wanted)
    this.onOpen?.()
    if (wanted.resume !== undefined && !this.sessions.has(wanted.resume))
      throw new AgentFailure('lost', 'session', 'no such session')
    const id = wanted.resume ?? `${this.settings.id}-${this.sessions.size + 1}`
    this.sessions.add(id)
    const how = wanted.resume === undefined ? 'new' : 'resumed'
    let cancel = (): void => undefined
    const cancelled = new Promise<void>(resolve => (cancel = resolve))
    return {
      ...{ id, pid: undefined, ownMode: undefined, cancel },
      prompt: content => {
        const text = String(content[0]?.text)
        this.prompts.push(text)
        return this.#play({ text, side: wanted.handler, session: id, how, cancelled })
      },
      close: () => Promise.resolve(),
    }
  }

  async probe(): Promise<AgentHost['health']> {
    this.probes++
    return this.health
  }

  async stop(): Promise<void> {
    // Nothing runs.
  }
}

export const says =
  (text: string): Play =>
  async ({ side }) => {
    side.update({ is: 'text', text })
    return END
  }

export function fails(...failure: ConstructorParameters<typeof AgentFailure>): Play {
  return () => Promise.reject(new AgentFailure(...failure))
}

/** Goes on until it is cancelled. */
export const hangs: Play = async ({ cancelled }) => {
  await cancelled
  return CANCELLED
}

export function call(facts: Partial<AgentToolCall> = {}): AgentToolCall {
  return {
    ...{ id: 'c1', title: 'npm test', kind: 'execute', status: 'pending', paths: [] },
    ...{ rawInput: undefined, content: [] },
    ...facts,
  }
}

export const OPTIONS = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
] as const

export const CONTAINMENT: Containment = {
  resolve: (cwd, files) => Promise.resolve({ cwd: cwd ?? '/work', files }),
  decide: (_, policy) => ({ do: policy.default, by: 'default' }),
  worktree: () => Promise.reject(new Error('no worktree here')),
  prune: () => Promise.resolve([]),
}

export function request(facts: Partial<TaskRequest> = {}): TaskRequest {
  return {
    ...{
      prompt: 'do it',
      agent: undefined,
      taskType: undefined,
      capabilities: [],
      cwd: undefined,
      files: [],
    },
    ...{
      continues: undefined,
      model: undefined,
      timeoutMs: undefined,
      isolation: undefined,
    },
    ...{ idempotencyKey: undefined, background: true },
    ...facts,
  }
}

export const ANN: TaskCaller = { owner: 'ann', issuer: '', subject: 'ann', parent: undefined }
export const BOB: TaskCaller = { owner: 'bob', issuer: '', subject: 'bob', parent: undefined }

export interface DeskOptions {
  readonly file?: string | undefined
  readonly tasks?: AgentsConfig['tasks']
  readonly routing?: AgentsConfig['routing']
  readonly now?: () => number
  readonly log?: Log
  readonly containment?: Partial<Containment>
  readonly clock?: Clock
  readonly hide?: (text: string) => string
  readonly record?: (event: AuditEvent) => void
}

/** A desk over these agents; it is stopped when the test is over. */
export function deskOf(context: TestContext, hosts: readonly AgentHost[], options: DeskOptions = {}): LocalTaskService {
  const parts: ServiceDeps = {
    agents: new Map(hosts.map(host => [host.settings.id, host])),
    routing: options.routing,
    tasks: parseTaskSettings(options.tasks),
    containment: { ...CONTAINMENT, ...options.containment },
    callback: undefined,
  }
  const environment = {
    ...{ file: options.file, log: options.log ?? SILENT, now: options.now ?? Date.now },
    clock: options.clock ?? REFERENCED,
    hide: options.hide ?? ((text: string) => text.replaceAll('s3cret', '***')),
    ...(options.record === undefined ? {} : { record: options.record }),
  }
  const service = new LocalTaskService(environment, parts)
  cleanup(context, () => service.stop())
  return service
}

/** Timers that keep the test alive. */
export const REFERENCED: Clock = {
  now: () => systemClock.now(),
  after(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
}

/** A file for a database, gone after the test. */
export function fileOf(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'agents-work-'))
  cleanup(context, () => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'state', 'agents.db')
}

/** The task when it has ended, or needs somebody. */
export async function settled(service: LocalTaskService, id: string, owner = 'ann'): Promise<TaskView> {
  const view = await service.wait(id, owner, { ms: 20_000 })
  if (view === undefined) throw new Error('there is no such task')
  return view
}
