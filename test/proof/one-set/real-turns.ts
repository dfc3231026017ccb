import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getErrorMessage } from '../../../src/errors/errors.ts'
import { startChild, type Child } from '../../peers/child.ts'
import { LAUNCHER } from '../../peers/gateway.ts'
import { Installation, REAL_CLIENTS } from './real-clients.ts'
import type { Check, Said } from './said.ts'
import { until } from './waits.ts'

/** Parts of each turn, in order, with the gates that are before them; a client waits at a gate until it is opened. */
const PARTS = [
  { part: 'a', calls: 8, servers: 'shared', gate: undefined },
  { part: 'b', calls: 30, servers: 'all', gate: 'measured' },
  { part: 'c', calls: 24, servers: 'all', gate: 'load' },
  { part: 'd', calls: 9, servers: 'all', gate: 'back' },
] as const

export type Gate = 'measured' | 'load' | 'back'

interface Call {
  readonly part: string
  readonly server: string
  readonly value: string
}

interface Turn {
  readonly one: Installation
  readonly calls: readonly Call[]
  readonly said: Promise<string>
}

/** Claude Code, Codex, Gemini CLI and opencode from npm, each in a home and a project of its own, before a model that does as it is told. */
export class RealTurns {
  readonly #folder: string
  readonly #model: Child
  readonly #installed: Installation[] = []
  #turns: Turn[] = []

  private constructor(folder: string, model: Child) {
    this.#folder = folder
    this.#model = model
  }

  /** Installs them, and writes the gateway into their settings with `gateway connect`. */
  static async prepare(folder: string, config: string, check: Check): Promise<RealTurns> {
    const model = startChild(fileURLToPath(new URL('../../fixtures/model/server.ts', import.meta.url)), [])
    const turns = new RealTurns(folder, model)
    const url = await model.line(line => (line.startsWith('http') ? line : undefined), 20_000)
    for (const client of REAL_CLIENTS)
      try {
        turns.#installed.push(await Installation.make(client, folder, url))
      } catch (error) {
        check(false, `${client.spec} cannot be installed: ${getErrorMessage(error).slice(0, 200)}`)
      }
    for (const one of turns.#installed) connect(one, config, check)
    return turns
  }

  get count(): number {
    return this.#installed.length
  }

  /** Each client's own command must show the entry as connected. */
  async list(check: Check): Promise<void> {
    for (const one of this.#installed) {
      const { args, shows } = one.client.list
      const found = await one.list()
      check(
        found.shows,
        `${one.client.program} ${args.join(' ')} says ${String(shows)} of the entry of gateway connect${found.shows ? '' : `: ${found.said.slice(-300)}`}`,
      )
    }
  }

  /** Takes the entries back: the settings are as they were. */
  disconnect(check: Check): void {
    for (const { client, env } of this.#installed) {
      const { stdout } = gateway(['disconnect', client.name, '--json'], env)
      check(
        stdout.includes('"restored"') || stdout.includes('"removed"'),
        `gateway disconnect ${client.name} takes it back`,
      )
    }
  }

  /** Begins all turns, and resolves when each waits at the first gate. */
  async begin(shared: readonly string[]): Promise<void> {
    this.#turns = await Promise.all(
      this.#installed.map(async (one, index) => {
        await mkdir(this.#gates(one), { recursive: true })
        const calls = callsOf(one.client.name, shared, index)
        return { one, calls, said: one.turn(this.#script(one, calls)) }
      }),
    )
    await this.waiting('measured')
  }

  /** Resolves when each client that still goes waits at a gate. */
  async waiting(gate: Gate): Promise<void> {
    const left = new Set(this.#installed)
    for (const { one, said } of this.#turns) void said.then(() => left.delete(one))
    await until(() => [...left].every(one => existsSync(join(this.#gates(one), `${gate}.waiting`))))
  }

  async open(gate: Gate): Promise<void> {
    await Promise.all(this.#installed.map(one => writeFile(join(this.#gates(one), gate), '')))
  }

  /** Waits for the ends of all turns, and looks at what the clients got. Returns the processes of their sessions. */
  async judge(check: Check): Promise<number[]> {
    const all = await Promise.all(this.#turns.map(async turn => judged(turn, await turn.said, check)))
    return all.flat()
  }

  async stop(): Promise<void> {
    for (const gate of ['measured', 'load', 'back'] as const) await this.open(gate).catch(() => undefined)
    await this.#model.stop()
  }

  #gates({ client }: Installation): string {
    return join(this.#folder, 'gates', client.name)
  }

  #script(one: Installation, calls: readonly Call[]): string {
    const steps = PARTS.flatMap(({ part, gate }) => [
      ...(gate === undefined ? [] : [`[[until:${join(this.#gates(one), gate)}]]`]),
      ...calls
        .filter(call => call.part === part)
        .map(({ server, value }) => `[[tool:${server}__echo ${JSON.stringify({ value })}]]`),
    ])
    return `go ${steps.join(' ')}`
  }
}

function connect({ client, env }: Installation, config: string, check: Check): void {
  const { status, stderr } = gateway(['connect', client.name, '--yes', '-c', config], env)
  if (status !== 0) check(false, `gateway connect ${client.name}: ${stderr}`)
}

function gateway(args: readonly string[], env: Readonly<Record<string, string>>): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [LAUNCHER, ...args], { env, encoding: 'utf8' })
}

function callsOf(client: string, shared: readonly string[], index: number): Call[] {
  return PARTS.flatMap(({ part, calls, servers }) =>
    Array.from({ length: calls }, (_, i) => {
      const common = String(shared[(index * 9 + i) % shared.length])
      const server = servers === 'shared' ? common : (['own', 'here', common][i % 3] ?? common)
      return { part, server, value: `${client}-${part}${i}` }
    }),
  )
}

/** Whatever a client lays around a result, and however often it quotes it, this is what the server said. */
const RESULT = /\{"name":"(\w+)","pid":(\d+),"cwd":"([^"]*)","value":"([^"]*)"\}/g

function judged({ one, calls }: Turn, text: string, check: Check): number[] {
  const heard = new Map<string, Said>()
  for (const [, name = '', pid, cwd = '', value = ''] of text.replaceAll('\\', '').matchAll(RESULT))
    heard.set(value, { name, pid: Number(pid), cwd, value })
  const isRight = ({ server, value }: Call): boolean => {
    const said = heard.get(value)
    return said?.name === server && (server !== 'here' || said.cwd === one.project)
  }
  const wrong = calls.filter(call => call.part !== 'c' && !isRight(call))
  const hit = calls.filter(call => call.part === 'c' && !isRight(call))
  const isOther = hit.some(({ value }) => heard.has(value))
  const own = calls
    .filter(({ part, server }) => part === 'b' && server === 'own')
    .map(({ value }) => heard.get(value)?.pid)
  const pids = [...new Set(own)].filter(pid => pid !== undefined)
  const { name } = one.client
  check(
    wrong.length === 0 && !isOther,
    `${name}: ${calls.length - hit.length - wrong.length} calls right, from its session and its project; ${hit.length} of ${PARTS[2].calls} ended with an error when the gateway was killed; it went on after that${wrong.length === 0 ? '' : `: ${wrong.length} are wrong, such as ${JSON.stringify(wrong[0])}: ${text.slice(-400)}`}`,
  )
  check(pids.length === 1, `${name}: isolation: session: one process of its own`)
  return pids
}
