import type { Clock, JsonObject, Log, Program, Programs } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import { AgentFailure, type AgentFacts, type SessionRequest } from '../types/agent.ts'
import type { AgentSettings } from '../types/settings.ts'
import { Connection } from '../acp/connection.ts'
import { failureOf, CODES, RpcFault } from '../acp/failures.ts'
import { initializeParams, readFacts } from '../acp/agent-info.ts'
import { logIn } from '../acp/log-in.ts'
import { openSession } from '../acp/open-session.ts'
import { type LiveSession, type SessionHome } from '../acp/session.ts'

/** Parts of a process. */
interface ProcessParts {
  readonly settings: AgentSettings
  /** The file that is run. */
  readonly program: string
  readonly cwd: string
  /** Paths that it may write in a sandbox. */
  readonly writable: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly programs: Programs
  readonly clock: Clock
  readonly log: Log
  /** Of the gateway, for `clientInfo`. */
  readonly version: string
  /** Something has changed that may concern who waits for a slot. */
  changed(process: AgentProcess): void
  /** A turn failed in a way that may say something of the agent. */
  failed(failure: AgentFailure): void
  /** Told once. `gone` resolves when nothing is left of it. */
  ended(process: AgentProcess, gone: Promise<void>): void
}

interface Early {
  readonly sessionId: string
  readonly update: JsonObject
}

/** Updates for sessions whose id has not been read yet. */
const MAX_EARLY = 64

/** One running process of an agent, with its sessions. */
export class AgentProcess implements SessionHome {
  readonly settings: AgentSettings
  readonly clock: Clock
  readonly log: Log
  readonly sessions = new Map<string, LiveSession>()
  readonly startedAt: number
  /** Sessions that are open or about to be. */
  takenSlots = 0
  turns = 0
  isRetiring = false
  readonly #parts: ProcessParts
  readonly #connection: Connection
  #program: Program | undefined
  #facts: AgentFacts | undefined
  #ended: AgentFailure | undefined
  #gone: Promise<void> = Promise.resolve()
  #opening = 0
  #early: Early[] = []
  /** Sessions that the agent was told to forget, and has not answered for. */
  readonly #closing = new Set<Promise<void>>()

  private constructor(parts: ProcessParts) {
    this.#parts = parts
    this.settings = parts.settings
    this.clock = parts.clock
    this.log = parts.log
    this.startedAt = parts.clock.now()
    this.#connection = new Connection(
      {
        send: line => this.#program?.send(line) ?? false,
        reply: line => this.#program?.reply(line),
      },
      {
        request: (method, params, signal) => this.#answer(method, params, signal),
        notification: (method, params) => this.#hear(method, params),
        broken: why => this.end(this.#failure('protocol', 'process', why)),
      },
    )
  }

  /** Starts one, as far as it can take sessions. @throws AgentFailure; nothing is left then */
  static async start(parts: ProcessParts, signal: AbortSignal): Promise<AgentProcess> {
    const started = new AgentProcess(parts)
    const leave = (): void => started.end(failureOf(signal.reason, parts.settings.id, 'initialize'))
    signal.addEventListener('abort', leave, { once: true })
    try {
      signal.throwIfAborted()
      await started.#launch()
      await started.#initialize()
      await logIn(started)
      return started
    } catch (error) {
      const failure = failureOf(error, parts.settings.id, 'initialize')
      started.end(failure)
      await started.#gone
      throw failure
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  get facts(): AgentFacts {
    if (this.#facts === undefined) throw this.#failure('protocol', 'initialize', 'it has not answered yet')
    return this.#facts
  }

  get pid(): number | undefined {
    return this.#program?.pid
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** Resolves when nothing is left of it, once it has ended. */
  get gone(): Promise<void> {
    return this.#gone
  }

  memory(): Promise<number | undefined> {
    return this.#program?.memory() ?? Promise.resolve(undefined)
  }

  async #launch(): Promise<void> {
    const { settings, program, programs, cwd, env } = this.#parts
    try {
      this.#program = await programs.launch({
        name: `agent-${settings.id}`,
        command: program,
        args: settings.args,
        ...{ cwd, env },
        ceilings: settings.ceilings,
        sandbox: settings.sandbox,
        writable: this.#parts.writable,
        maxLine: settings.output.maxLine,
        onLine: line => this.#connection.receive(line),
        onEnd: (why, _exit, lastWords) => this.#whenGone(why, lastWords),
      })
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw this.#failure('spawn', 'spawn', why)
    }
    if (this.#ended === undefined) return
    // The process was given up while there was none to end.
    this.#gone = this.#program.stop()
    throw this.#ended
  }

  #whenGone(why: string, lastWords: string | undefined): void {
    const hasBegun = this.#facts !== undefined
    const failure = this.#failure(hasBegun ? 'crash' : 'spawn', hasBegun ? 'process' : 'initialize', why)
    failure.lastWords = lastWords
    this.end(failure)
  }

  async #initialize(): Promise<void> {
    const { settings, version } = this.#parts
    const params = initializeParams(version)
    const answer = await this.demand('initialize', 'initialize', params, settings.timeouts.initializeMs)
    this.#facts = readFacts(answer, settings.id)
  }

  ask(method: string, params: JsonObject): Promise<unknown> {
    return this.#connection.request(method, params)
  }

  /** A request that must be answered in time. @throws AgentFailure; a late answer costs the process */
  async demand(phase: string, method: string, params: JsonObject, ms: number): Promise<unknown> {
    const late = Promise.withResolvers<never>()
    const stopTimer = this.clock.after(Math.min(ms, 2 ** 31 - 1), () => {
      const failure = this.#failure('timeout', phase, `it did not answer ${method} within ${ms} ms`)
      late.reject(failure)
      this.giveUp(failure)
    })
    try {
      return await Promise.race([this.ask(method, params), late.promise])
    } catch (error) {
      throw failureOf(error, this.settings.id, phase)
    } finally {
      stopTimer()
    }
  }

  notify(method: string, params: JsonObject): void {
    this.#connection.notify(method, params)
  }

  /** A new session, or one that goes on. @throws AgentFailure */
  async open(wanted: SessionRequest): Promise<LiveSession> {
    this.#opening++
    try {
      // Some agents lose a session that they open while they close another one.
      await Promise.all(this.#closing)
      const session = await openSession(this, wanted)
      for (const { sessionId, update } of this.#early) if (sessionId === session.id) session.receive(update)
      return session
    } finally {
      if (--this.#opening === 0) this.#early = []
    }
  }

  turnBegins(): void {
    this.turns++
  }

  turnFailed(failure: AgentFailure): void {
    this.#parts.failed(failure)
  }

  turnEnded(): void {
    this.#parts.changed(this)
  }

  isSharedWithBusy(session: LiveSession | undefined): boolean {
    return [...this.sessions.values()].some(each => each !== session && each.isBusy)
  }

  retire(): void {
    this.isRetiring = true
    this.#parts.changed(this)
  }

  /** Gives up a process that is of no use any more; those that work in it may finish. */
  giveUp(why: AgentFailure): void {
    if (this.isSharedWithBusy(undefined)) this.retire()
    else this.end(why)
  }

  async release(session: LiveSession): Promise<void> {
    await this.close(session)
    this.leave()
  }

  /** Closes a session that nobody needs; the agent may forget it. Never rejects. */
  async close({ id }: LiveSession): Promise<void> {
    this.sessions.delete(id)
    const { sessionMs } = this.settings.timeouts
    if (this.hasEnded || !this.facts.canClose) return
    const closing = this.demand('close', 'session/close', { sessionId: id }, sessionMs).then(
      () => undefined,
      () => undefined,
    )
    this.#closing.add(closing)
    await closing
    this.#closing.delete(closing)
  }

  /** A slot is free again. */
  leave(): void {
    this.takenSlots--
    this.#parts.changed(this)
  }

  /** Ends the process, and with it every session in it. The turn that was too late ends as such, the others with a crash. */
  end(why: AgentFailure): void {
    if (this.#ended !== undefined) return
    this.#ended = why
    this.isRetiring = true
    const failure =
      why.kind === 'timeout'
        ? this.#failure('crash', 'process', `its process was ended: ${why.message}`)
        : why
    this.#connection.end(failure)
    for (const session of this.sessions.values()) session.fail(failure)
    this.sessions.clear()
    this.#gone = this.#program?.stop() ?? Promise.resolve()
    this.#parts.ended(this, this.#gone)
  }

  #hear(method: string, { sessionId, update }: JsonObject): void {
    if (method !== 'session/update' || typeof sessionId !== 'string' || !isObject(update)) return
    const session = this.sessions.get(sessionId)
    if (session !== undefined) return session.receive(update)
    // Updates of a session may come before we have read its id.
    if (this.#opening > 0 && this.#early.length < MAX_EARLY) this.#early.push({ sessionId, update })
  }

  #answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const { sessionId } = params
    const session = typeof sessionId === 'string' ? this.sessions.get(sessionId) : undefined
    if (session !== undefined) return session.request(method, params, signal)
    if (method === 'session/request_permission') return Promise.resolve({ outcome: { outcome: 'cancelled' } })
    return Promise.reject(
      typeof sessionId === 'string' && OF_SESSIONS.test(method)
        ? new RpcFault(CODES.invalidParams, 'There is no such session')
        : new RpcFault(CODES.methodNotFound, `Method not found: ${method.slice(0, 128)}`),
    )
  }

  #failure(kind: AgentFailure['kind'], phase: string, what: string): AgentFailure {
    return new AgentFailure(kind, phase, `agent "${this.settings.id}": ${what}`)
  }
}

const OF_SESSIONS = /^elicitation\/create$/
