import type { Clock, JsonObject, Log, Program, Programs } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import type { AgentFacts, SessionRequest } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { AgentSettings } from '../settings.ts'
import { CODES, RpcConnection, RpcFault, toAgentFailure } from './rpc-connection.ts'
import { buildInitializeParams, logIn, openSession, parseFacts } from './open-session.ts'
import type { LiveSession, SessionProcess } from './session.ts'

interface ProcessDeps {
  readonly settings: AgentSettings
  /** Program path. */
  readonly program: string
  readonly cwd: string
  /** Paths that the sandbox allows the process to write. */
  readonly writable: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly programs: Programs
  readonly clock: Clock
  readonly log: Log
  /** Gateway version, sent in `clientInfo`. */
  readonly version: string
  /** Called on turn failures that affect the agent's health. */
  failed(failure: AgentFailure): void
}

/** Buffered updates that arrive before the session id is known. */
const MAX_EARLY = 64

/** A running agent process with one session. */
export class AgentProcess implements SessionProcess {
  readonly settings: AgentSettings
  readonly clock: Clock
  readonly log: Log
  /** Resolves when the process and its children have exited. */
  exited: Promise<void> = Promise.resolve()
  session: LiveSession | undefined
  readonly #deps: ProcessDeps
  readonly #connection: RpcConnection
  #program: Program | undefined
  #facts: AgentFacts | undefined
  #endReason: AgentFailure | undefined
  #earlyUpdates: JsonObject[] = []

  private constructor(deps: ProcessDeps) {
    this.#deps = deps
    this.settings = deps.settings
    this.clock = deps.clock
    this.log = deps.log
    this.#connection = new RpcConnection(
      {
        send: line => this.#program?.send(line) ?? false,
        reply: line => this.#program?.reply(line),
      },
      {
        request: (method, params, signal) => this.#handleRequest(method, params, signal),
        notification: (method, params) => this.#handleNotification(method, params),
        broken: reason => this.terminate(this.#createFailure('protocol', 'process', reason)),
      },
    )
  }

  /** Starts and initializes a process. @throws AgentFailure after cleaning up */
  static async start(deps: ProcessDeps, signal: AbortSignal): Promise<AgentProcess> {
    const started = new AgentProcess(deps)
    const stopped = started.#createFailure('stopped', 'initialize', 'the request was cancelled')
    const abortStart = (): void => started.terminate(stopped)
    signal.addEventListener('abort', abortStart, { once: true })
    try {
      if (signal.aborted) throw stopped
      await started.#launch()
      await started.#initialize()
      await logIn(started)
      return started
    } catch (error) {
      const failure = toAgentFailure(error, deps.settings.id, 'initialize')
      started.terminate(failure)
      await started.exited
      throw failure
    } finally {
      signal.removeEventListener('abort', abortStart)
    }
  }

  get facts(): AgentFacts {
    if (this.#facts === undefined) throw this.#createFailure('protocol', 'initialize', 'not initialized yet')
    return this.#facts
  }

  get pid(): number | undefined {
    return this.#program?.pid
  }

  async #launch(): Promise<void> {
    const { settings, program, programs, cwd, env, writable } = this.#deps
    try {
      this.#program = await programs.launch({
        name: `agent-${settings.id}`,
        command: program,
        args: settings.args,
        ...{ cwd, env, writable },
        ceilings: settings.ceilings,
        sandbox: settings.sandbox,
        maxLine: settings.output.maxLine,
        onLine: line => this.#connection.receive(line),
        onEnd: (reason, _exit, lastWords) => this.#handleExit(reason, lastWords),
      })
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw this.#createFailure('spawn', 'spawn', reason)
    }
    if (this.#endReason === undefined) return
    // Startup was aborted before the process existed.
    this.exited = this.#program.stop()
    throw this.#endReason
  }

  #handleExit(reason: string, lastWords: string | undefined): void {
    const hasBegun = this.#facts !== undefined
    const failure = this.#createFailure(hasBegun ? 'crash' : 'spawn', hasBegun ? 'process' : 'initialize', reason)
    failure.lastWords = lastWords
    this.terminate(failure)
  }

  async #initialize(): Promise<void> {
    const { settings, version } = this.#deps
    const { initializeMs } = settings.timeouts
    const answer = await this.requestInTime('initialize', 'initialize', buildInitializeParams(version), initializeMs)
    this.#facts = parseFacts(answer, settings.id)
  }

  sendRequest(method: string, params: JsonObject): Promise<unknown> {
    return this.#connection.requestAgent(method, params)
  }

  /** Sends a request with a timeout. @throws AgentFailure; a timeout terminates the process */
  async requestInTime(phase: string, method: string, params: JsonObject, ms: number): Promise<unknown> {
    const expiry = Promise.withResolvers<never>()
    const stopTimer = this.clock.after(Math.min(ms, 2 ** 31 - 1), () => {
      const failure = this.#createFailure('timeout', phase, `${method} timed out after ${ms} ms`)
      expiry.reject(failure)
      this.terminate(failure)
    })
    try {
      return await Promise.race([this.sendRequest(method, params), expiry.promise])
    } catch (error) {
      throw toAgentFailure(error, this.settings.id, phase)
    } finally {
      stopTimer()
    }
  }

  notify(method: string, params: JsonObject): void {
    this.#connection.notify(method, params)
  }

  /** Creates or resumes a session. @throws AgentFailure */
  async openSession(request: SessionRequest): Promise<LiveSession> {
    const session = await openSession(this, request)
    for (const params of this.#earlyUpdates) this.#handleNotification('session/update', params)
    this.#earlyUpdates = []
    return session
  }

  /** Terminates the process and its session. */
  terminate(failure: AgentFailure): void {
    if (this.#endReason !== undefined) return
    this.#endReason = failure
    this.#connection.abort(failure)
    this.session?.fail(failure)
    this.exited = this.#program?.stop() ?? Promise.resolve()
  }

  reportTurnFailure(failure: AgentFailure): void {
    this.#deps.failed(failure)
  }

  #handleNotification(method: string, params: JsonObject): void {
    const { sessionId, update } = params
    if (method !== 'session/update' || typeof sessionId !== 'string' || !isObject(update)) return
    if (this.session?.id === sessionId) this.session.handleUpdate(update)
    // Updates may arrive before the session id has been read.
    else if (this.session === undefined && this.#earlyUpdates.length < MAX_EARLY) this.#earlyUpdates.push(params)
  }

  #handleRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const { sessionId } = params
    if (this.session !== undefined && this.session.id === sessionId)
      return this.session.handleRequest(method, params, signal)
    if (method === 'session/request_permission') return Promise.resolve({ outcome: { outcome: 'cancelled' } })
    return Promise.reject(
      method === 'elicitation/create' && typeof sessionId === 'string'
        ? new RpcFault(CODES.invalidParams, 'Unknown session')
        : new RpcFault(CODES.methodNotFound, `Method not found: ${method.slice(0, 128)}`),
    )
  }

  #createFailure(kind: AgentFailure['kind'], phase: string, message: string): AgentFailure {
    return new AgentFailure(kind, phase, `agent "${this.settings.id}": ${message}`)
  }
}
