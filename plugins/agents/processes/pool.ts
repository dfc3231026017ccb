import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, type Log, makeDirectory, type Programs, reasonOf } from '../../../src/plugin.ts'
import {
  AgentFailure,
  type AgentHealth,
  type AgentHost,
  type AgentSession,
  type SessionRequest,
} from '../types/agent.ts'
import type { AgentSettings } from '../types/settings.ts'
import { healthAfter, PoolSlot, whyNotStarted } from './pool-slot.ts'
import { RecyclePolicy } from './recycler.ts'
import type { Places } from './process-quota.ts'
import { AgentProcess } from './agent-process.ts'
import { programOf } from './program.ts'

/** Settings and dependencies of a pool. */
export interface HostParts {
  readonly settings: AgentSettings
  readonly programs: Programs
  readonly clock: Clock
  readonly log: Log
  /** Directory of the configuration. */
  readonly directory: string
  /** The plugin's own directory for what outlives this process; undefined where nothing does. */
  readonly state: string | undefined
  /** Globs that the real path of its program must match. */
  readonly commands: readonly string[] | undefined
  /** The bound over all agents. */
  readonly places: Places
  /** Of the gateway. */
  readonly version: string
}

/** All processes of one agent: started when needed or ahead, shared by sessions, replaced in time. */
export class AgentPool implements AgentHost {
  readonly settings: AgentSettings
  readonly #parts: HostParts
  readonly #home: AgentHome
  readonly #recyclePolicy: RecyclePolicy
  readonly #slots = new Set<PoolSlot>()
  readonly #waiting = new Set<() => void>()
  readonly #leaveHold: () => void
  #health: AgentHealth = { state: 'unknown' }
  #stopped: Promise<void> | undefined

  constructor(parts: HostParts) {
    this.#parts = parts
    this.settings = parts.settings
    this.#home = new AgentHome(parts.state, parts.settings.id)
    this.#recyclePolicy = new RecyclePolicy(parts.clock, parts.settings.pool, parts.places, () =>
      this.#live(),
    )
    this.#leaveHold = parts.places.hold(() => this.#recyclePolicy.endIdle())
  }

  /** Of one that never ran at least whether there is a program. */
  get health(): AgentHealth {
    if (this.#health.state !== 'unknown') return this.#health
    const { inheritEnv, env } = this.settings
    try {
      this.#program(this.#parts.programs.environment(inheritEnv, env).PATH)
      return this.#health
    } catch (error) {
      return { state: 'unavailable', why: reasonOf(error) }
    }
  }

  /** @throws GatewayError GW_AGENT_COMMAND */
  #program(searchPath: string | undefined): string {
    const { directory, commands } = this.#parts
    const { command, where } = this.settings
    return programOf(command, { searchPath, directory, commands, where })
  }

  get load(): AgentHost['load'] {
    const live = this.#live()
    return { processes: live.length, sessions: live.reduce((sum, { sessions }) => sum + sessions.size, 0) }
  }

  /** Starts what `pool.warm` wants ahead. */
  warm(): void {
    const { warm, processes } = this.settings.pool
    // A sandbox is made around the directory of a task, and there is no task yet.
    if (this.settings.sandbox !== undefined || this.#stopped !== undefined) return
    const fresh = [...this.#slots].filter(({ isOpen }) => isOpen).length
    const missing = Math.min(warm - fresh, processes - this.#slots.size)
    // Processes that are started ahead must not push out those that others keep.
    for (let count = 0; count < missing && this.#parts.places.hasFree; count++)
      this.#start(undefined).ready.catch(() => undefined)
  }

  async open(wanted: SessionRequest): Promise<AgentSession> {
    const slot = await this.#slot(wanted)
    try {
      const process = await orGivenUp(slot.ready, wanted.signal)
      return await this.#openIn(process, wanted)
    } catch (error) {
      slot.leave()
      throw this.#noted(error)
    }
  }

  async #openIn(process: AgentProcess, wanted: SessionRequest): Promise<AgentSession> {
    const opened = process.open(wanted)
    try {
      return await orGivenUp(opened, wanted.signal)
    } catch (error) {
      // The session may still come, when nobody wants it any more.
      void opened.then(session => process.close(session)).catch(() => undefined)
      throw error
    }
  }

  /** A place for a session in a process that runs or starts. */
  async #slot(wanted: SessionRequest): Promise<PoolSlot> {
    const { signal, cwd, resume } = wanted
    const place = this.settings.sandbox === undefined ? undefined : cwd
    for (;;) {
      this.#demandWanted(signal)
      if (resume !== undefined && this.#live().some(({ sessions }) => sessions.has(resume)))
        throw this.#failure('busy', 'that session is open already')
      const slot = this.#roomy(place) ?? this.#newOne(place)
      if (slot?.take() === true) return this.#placed(slot, place, signal)
      await this.#change(signal)
    }
  }

  /** While a new process has no place, there may come to be room in one that runs. */
  async #placed(
    slot: PoolSlot,
    place: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<PoolSlot> {
    try {
      while (!slot.hasPlace && slot.isOpen) {
        await Promise.race([slot.placed, this.#change(signal)])
        this.#demandWanted(signal)
        const better = this.#roomy(place)
        if (slot.hasPlace || better?.hasPlace !== true || !better.take()) continue
        slot.leave()
        return better
      }
      return slot
    } catch (error) {
      slot.leave()
      throw error
    }
  }

  #demandWanted(signal: AbortSignal | undefined): void {
    if (this.#stopped !== undefined) throw this.#failure('stopped', 'the gateway is stopping')
    if (signal?.aborted === true) throw this.#failure('stopped', 'nobody waits for it any more')
  }

  /** Those that have a place come first, and of them the one with the fewest sessions. */
  #roomy(place: string | undefined): PoolSlot | undefined {
    return [...this.#slots]
      .filter(slot => slot.hasRoom(place, this.settings.pool.sessions))
      .sort((one, other) => Number(other.hasPlace) - Number(one.hasPlace) || one.taken - other.taken)[0]
  }

  #newOne(place: string | undefined): PoolSlot | undefined {
    if (this.#slots.size < this.settings.pool.processes) return this.#start(place)
    // One that was made around another directory, and does nothing.
    this.#recyclePolicy.endIdle()
    return undefined
  }

  #change(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= MAX_WAITING) throw this.#failure('busy', 'too many wait for a process')
    return new Promise(resolve => {
      const go = (): void => {
        this.#waiting.delete(go)
        signal?.removeEventListener('abort', go)
        resolve()
      }
      this.#waiting.add(go)
      signal?.addEventListener('abort', go, { once: true })
    })
  }

  #changed(): void {
    for (const go of [...this.#waiting]) go()
  }

  #start(place: string | undefined): PoolSlot {
    const slot: PoolSlot = new PoolSlot(place, this.#parts.places, signal =>
      this.#launch(slot, place, signal),
    )
    this.#slots.add(slot)
    slot.ready.then(
      process => {
        this.#health = { state: 'ready', facts: process.facts }
        this.#recyclePolicy.look(process)
        this.#changed()
      },
      (error: unknown) => {
        this.#slots.delete(slot)
        this.#noted(error)
        this.#changed()
      },
    )
    return slot
  }

  async #launch(slot: PoolSlot, place: string | undefined, signal: AbortSignal): Promise<AgentProcess> {
    const { settings, programs, clock, log, version } = this.#parts
    const home = await this.#home.directory()
    const env = programs.environment(settings.inheritEnv, { HOME: home, ...settings.env })
    try {
      const program = this.#program(env.PATH)
      const changed = (process: AgentProcess): void => {
        this.#recyclePolicy.look(process)
        this.#changed()
      }
      const ended = (process: AgentProcess, gone: Promise<void>): void => this.#ended(slot, process, gone)
      const failed = (error: AgentFailure): void => void this.#noted(error)
      const parts = { settings, program, env, programs, clock, log, version, changed, ended, failed }
      return await AgentProcess.start(
        { ...parts, cwd: place ?? home, writable: place === undefined ? [home] : [home, place] },
        signal,
      )
    } catch (error) {
      throw whyNotStarted(error)
    }
  }

  #ended(slot: PoolSlot, process: AgentProcess, gone: Promise<void>): void {
    this.#recyclePolicy.forget(process)
    void gone.finally(() => {
      this.#slots.delete(slot)
      slot.giveBack()
      this.#changed()
      if (this.#health.state === 'ready') this.warm()
    })
  }

  #noted(error: unknown): unknown {
    this.#health = healthAfter(error, this.#health)
    return error
  }

  #live(): AgentProcess[] {
    return [...this.#slots].flatMap(({ process }) =>
      process === undefined || process.hasEnded ? [] : [process],
    )
  }

  /** As far as a session: many agents say only then that they want a login. */
  async probe(): Promise<AgentHealth> {
    if (this.#stopped !== undefined) return this.#health
    try {
      const session = await this.open({ cwd: await this.#home.directory(), mcpServers: [], side: NOBODY })
      this.#health = openedBy(session, this.#health)
      await session.close()
    } catch (error) {
      this.#parts.log.debug('an agent that was looked at opened no session', {
        why: reasonOf(error),
        lastWords: error instanceof AgentFailure ? error.lastWords : undefined,
      })
    }
    return this.#health
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    await Promise.resolve()
    const failure = this.#failure('stopped', 'the gateway is stopping')
    this.#leaveHold()
    this.#changed()
    await Promise.all([...this.#slots].map(slot => slot.stop(failure)))
    this.#recyclePolicy.stop()
    await this.#home.leave().catch((error: unknown) => {
      this.#parts.log.warn('the HOME of an agent could not be removed', { why: reasonOf(error) })
    })
  }

  #failure(kind: AgentFailure['kind'], what: string): AgentFailure {
    return new AgentFailure(kind, 'place', `agent "${this.settings.id}": ${what}`)
  }
}

/** Health of an agent that has just opened a session. */
function openedBy({ ownMode }: AgentSession, before: AgentHealth): AgentHealth {
  const { state, facts } = before
  if (facts === undefined) return state === 'needs_auth' ? { state: 'ready' } : before
  const seen = { ...facts, ...(ownMode === undefined ? {} : { ownMode }) }
  return state === 'needs_auth' ? { state: 'ready', facts: seen } : { ...before, facts: seen }
}

/** Behind a session that nobody works in. */
const NOBODY: SessionRequest['side'] = {
  update: () => undefined,
  permission: () => Promise.resolve('cancelled'),
  handlers: new Map(),
}

/** Tasks wait in queues of their own; this is only a last bound. */
const MAX_WAITING = 4096

/** The promise, or a failure as soon as nobody waits for it. */
function orGivenUp<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(new AgentFailure('stopped', 'session', 'nobody waits for it any more'))
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** The HOME of one agent: nobody else's, and kept where anything is kept. */
class AgentHome {
  readonly #kept: string | undefined
  #made: Promise<string> | undefined

  /** `state` is the directory of the plugin; without one the HOME is temporary. */
  constructor(state: string | undefined, agent: string) {
    this.#kept = state === undefined ? undefined : path.join(state, 'homes', agent)
  }

  /** Its path; the directory is there then, for its owner only. */
  directory(): Promise<string> {
    this.#made ??= this.#make()
    return this.#made
  }

  async #make(): Promise<string> {
    if (this.#kept === undefined) return realpath(await mkdtemp(path.join(tmpdir(), 'tapgate-agent-')))
    await makeDirectory(this.#kept, 0o700)
    await chmod(this.#kept, 0o700)
    return realpath(this.#kept)
  }

  /** A temporary one is removed. */
  async leave(): Promise<void> {
    if (this.#kept !== undefined || this.#made === undefined) return
    const made = await this.#made.catch(() => undefined)
    this.#made = undefined
    if (made !== undefined) await rm(made, { recursive: true, force: true }).catch(() => undefined)
  }
}
