import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { processesWith } from '../../fixtures/processes.ts'
import { startChild, type Child } from '../../peers/child.ts'
import { LAUNCHER, requireBuild } from '../../peers/gateway.ts'
import { testClient, type TestClient } from '../../../src/testing/index.ts'

/** One task, as the one who delegated it knows it. */
export interface KilledTask {
  readonly name: string
  readonly prompt: string
  readonly agent: string
  /** Known once the gateway has answered. */
  id: string | undefined
  state: string
  why: string | undefined
  agents: readonly string[]
}

/** A line of the agents' own log: what they were told, and what they have done. */
export interface LogLine {
  readonly pid: number
  readonly session: string
  readonly prompt?: string
  readonly mark?: string
}

const AGENT = fileURLToPath(new URL('../../fixtures/acp/agent.ts', import.meta.url))
const FINAL = ['completed', 'failed', 'cancelled']
const FINISH_MS = 60_000

/** A gateway that dies and is started again on the same state, its agents, and who works with them. */
export class KillWorld {
  readonly directory = mkdtempSync(join(tmpdir(), 'agents-kills-'))
  readonly tasks = new Map<string, KilledTask>()
  readonly #log = join(this.directory, 'agents.log')
  #gateway: Child | undefined
  #client: TestClient | undefined

  constructor() {
    requireBuild()
    mkdirSync(join(this.directory, 'work'))
    writeFileSync(join(this.directory, 'gateway.yaml'), stringify(configIn(this.directory, this.#log)))
  }

  async start(): Promise<void> {
    const config = join(this.directory, 'gateway.yaml')
    const env = { ...process.env, XDG_STATE_HOME: this.directory }
    this.#gateway = startChild(LAUNCHER, ['serve', '-c', config], env)
    const url = await this.#gateway.line(line => /"main".*"(http:[^"]*)"/.exec(line)?.[1], 60_000)
    this.#client = await testClient(url)
  }

  /** A task of one of the agents; a side effect that is asked for, or just done, somewhere in the middle. */
  async delegate(dice: number): Promise<void> {
    const name = `task-${this.tasks.size}`
    const agent = ['keeps', 'forgets'][this.tasks.size % 2] ?? 'keeps'
    const [before, after] = [Math.floor(dice * 400), Math.floor((1 - dice) * 400)]
    const effect = this.tasks.size % 3 === 0 ? `[[edit ${name} done]]` : `[[ask edit ${name}]]`
    const prompt = `${name} [[sleep ${before}]]${effect}[[mark ${name}]][[sleep ${after}]][[say ${name} is done]]`
    const task: KilledTask = {
      ...{ name, prompt, agent, id: undefined, state: 'unanswered', why: undefined, agents: [] },
    }
    this.tasks.set(name, task)
    await this.#begin(task)
  }

  /** Lets go on what was interrupted, and asks again for what was not answered. */
  async goOn(): Promise<void> {
    for (const task of this.open()) {
      if (task.id === undefined) await this.#begin(task)
      await this.#look(task)
      if (task.state === 'interrupted')
        await this.#call('agent_reply', { task_id: task.id, content: {}, wait_ms: 0 })
    }
  }

  open(): KilledTask[] {
    return [...this.tasks.values()].filter(({ state }) => !FINAL.includes(state))
  }

  async finish(): Promise<void> {
    const until = performance.now() + FINISH_MS
    while (this.open().length > 0 && performance.now() < until) {
      await this.goOn()
      await pause(100)
    }
  }

  async killGateway(): Promise<void> {
    const gateway = this.#gateway
    assert.ok(gateway)
    const gone = new Promise(resolve => gateway.process.once('exit', resolve))
    gateway.process.kill('SIGKILL')
    await gone
    this.#noteEffects()
    await this.#client?.close().catch(() => undefined)
  }

  /** False when none runs. */
  killAgent(dice: number): boolean {
    const running = this.#processes().filter(({ command }) => command.includes(AGENT))
    const victim = running[Math.floor(dice * running.length)]
    if (victim === undefined) return false
    try {
      process.kill(victim.pid, 'SIGKILL')
      return true
    } catch {
      return false
    }
  }

  async left(ms: number): Promise<{ found: string[]; ms: number }> {
    const begun = performance.now()
    for (;;) {
      const found = this.#processes()
      const took = performance.now() - begun
      if (found.length === 0) return { found: [], ms: took }
      if (took > ms) return { found: found.map(({ pid, command }) => `${pid} ${command}`), ms: took }
      await pause(20)
    }
  }

  /** All that the agents have written down, and where in it the gateway is known to have written an effect. */
  log(): LogLine[] {
    if (!existsSync(this.#log)) return []
    const lines = readFileSync(this.#log, 'utf8').split('\n').filter(Boolean)
    return lines.map(line => JSON.parse(line) as LogLine)
  }

  async end(): Promise<void> {
    await this.#client?.close().catch(() => undefined)
    await this.#gateway?.stop()
  }

  async #begin(task: KilledTask): Promise<void> {
    const { prompt, agent, name } = task
    const told = await this.#call('delegate_task', { prompt, agent, background: true, idempotency_key: name })
    if (typeof told?.task_id === 'string') task.id = told.task_id
  }

  async #look(task: KilledTask): Promise<void> {
    if (task.id === undefined) return
    const told = await this.#call('agent_status', { task_id: task.id })
    if (told === undefined) return
    task.state = typeof told.state === 'string' ? told.state : 'lost'
    task.why = told.why as string | undefined
    task.agents = ((told.attempts ?? []) as { agent: string }[]).map(({ agent }) => agent)
  }

  /** Undefined when the gateway died over it; an empty answer when it knows of no such task. */
  async #call(name: string, args: object): Promise<Record<string, unknown> | undefined> {
    try {
      const reply = await this.#client?.request('tools/call', { name, arguments: { ...args } })
      if (reply?.result === undefined) return undefined
      return (reply.result.structuredContent ?? {}) as Record<string, unknown>
    } catch {
      return undefined
    }
  }

  /** The effects that are on disk when the gateway is dead: what the next one knows. */
  #noteEffects(): void {
    const file = join(this.directory, 'agents.db')
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const rows = database.prepare('SELECT key FROM tasks WHERE effect = 1').all()
      const known = rows.map(({ key }) => ({ pid: 0, session: '', mark: `known ${String(key)}` }))
      const text = known.map(line => `${JSON.stringify(line)}\n`).join('')
      writeFileSync(this.#log, text, { flag: 'a' })
    } finally {
      database.close()
    }
  }

  #processes(): ReturnType<typeof processesWith> {
    return processesWith(this.directory).filter(({ pid }) => pid !== this.#gateway?.process.pid)
  }
}

function configIn(directory: string, log: string): object {
  const agent = (...flags: string[]): object => ({
    command: process.execPath,
    args: [AGENT, '--log', log, ...flags],
    limits: { concurrent: 4, queue: 200, queueTimeout: '10m' },
  })
  return {
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    state: { directory: join(directory, 'state') },
    agents: {
      roots: [join(directory, 'work')],
      defaults: { permissions: { default: 'allow' }, pool: { warm: 1 } },
      list: { keeps: agent('--store', join(directory, 'sessions'), '--resume'), forgets: agent('--no-load') },
      tasks: { file: join(directory, 'agents.db') },
      processes: 6,
    },
  }
}
