import type { Clock, JsonObject, Log, PluginApi } from '../../../src/plugin.ts'
import { getErrorMessage, isObject } from '../../../src/plugin.ts'
import type { AgentSettings } from '../settings.ts'
import type { AgentFacts, SessionRequest, TurnEnd } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { StartPhase } from './open-session.ts'
import { initialize, logIn, openSession } from './open-session.ts'
import { CODES, RpcConnection, RpcFault, toAgentFailure } from './rpc-connection.ts'
import { readPermission, readUpdate, ToolCalls } from './session-updates.ts'

/** Maximum timer delay in Node. */
const MAX_TIMER = 2 ** 31 - 1

const REASONS = ['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled'] as const

const CANCELLED: TurnEnd = { stopReason: 'cancelled', usage: undefined }

const REFUSED = { outcome: { outcome: 'cancelled' } }

export interface SessionDeps {
  readonly settings: AgentSettings
  /** Program path. */
  readonly program: string
  readonly env: Readonly<Record<string, string>>
  /** Paths that the sandbox allows the process to write. */
  readonly writable: readonly string[]
  readonly programs: PluginApi['programs']
  readonly clock: Clock
  readonly log: Log
  /** Gateway version, sent in `clientInfo`. */
  readonly version: string
  readonly request: SessionRequest
  /** Called when a turn fails. */
  onFailure(failure: AgentFailure): void
  /** Called when the process has exited. */
  onExit(): void
}

interface RunningTurn {
  readonly turn: Turn
  /** Ends the turn for the caller, regardless of the agent. */
  readonly fail: (failure: AgentFailure) => void
  /** Settles when the turn has ended for the caller. */
  readonly completion: Promise<unknown>
}

export type AgentSession = Pick<LiveSession, 'id' | 'pid' | 'ownMode' | 'prompt' | 'cancel' | 'close'>

/** One agent process with its only session, which runs one prompt at a time. */
export class LiveSession {
  /** Session id chosen by the agent; empty until the session is open. */
  id = ''
  facts: AgentFacts | undefined
  /** Mode that the agent chose; undefined if it has none or the settings specify one. */
  ownMode: string | undefined
  readonly #deps: SessionDeps
  readonly #connection: RpcConnection
  readonly #calls = new ToolCalls()
  #program: Awaited<ReturnType<PluginApi['programs']['launch']>> | undefined
  #endReason: AgentFailure | undefined
  #exited: Promise<void> = Promise.resolve()
  /** True while a resumed session replays its history, which is discarded. */
  #isReplaying: boolean
  #isClosing = false
  #running: RunningTurn | undefined
  #stopCancelTimer: (() => void) | undefined

  constructor(deps: SessionDeps) {
    this.#deps = deps
    this.#isReplaying = deps.request.resume !== undefined
    this.#connection = new RpcConnection(
      {
        send: line => this.#program?.send(line) ?? false,
        reply: line => this.#program?.reply(line),
      },
      {
        request: (method, params, signal) => this.#handleRequest(method, params, signal),
        notification: (method, params) => this.#handleNotification(method, params),
      },
    )
  }

  get pid(): number | undefined {
    return this.#program?.pid
  }

  /** Starts the process and opens the session. @throws AgentFailure after the process has exited */
  async open(signal: AbortSignal): Promise<void> {
    const { settings, version, request } = this.#deps
    const stopped = this.#createFailure('stopped', 'initialize', 'the request was cancelled')
    const abortOpen = (): void => void this.terminate(stopped)
    const send = (phase: StartPhase, method: string, params: JsonObject): Promise<unknown> =>
      this.#requestInTime(phase, method, params)
    signal.addEventListener('abort', abortOpen, { once: true })
    try {
      if (signal.aborted) throw stopped
      await this.#launch()
      this.facts = await initialize(send, settings, version)
      await logIn(send, settings, this.facts)
      const { id, ownMode } = await openSession(send, { settings, facts: this.facts, request })
      Object.assign(this, { id, ownMode })
      this.#isReplaying = false
    } catch (error) {
      const failure = toAgentFailure(error, settings.id, 'initialize')
      await this.terminate(failure)
      throw failure
    } finally {
      signal.removeEventListener('abort', abortOpen)
    }
  }

  async #launch(): Promise<void> {
    const { settings, program, programs, env, writable, request } = this.#deps
    this.#program = await programs.launch({
      name: `agent-${settings.id}`,
      command: program,
      args: settings.args,
      ...{ cwd: request.cwd, env, writable },
      ceilings: settings.ceilings,
      sandbox: settings.sandbox,
      maxLine: settings.output.maxLine,
      onLine: line => this.#connection.receive(line),
      onEnd: (reason, _exit, lastWords) => this.#handleExit(reason, lastWords),
    })
    if (this.#endReason === undefined) return
    // Startup was aborted before the process existed.
    this.#exited = this.#program.stop()
    throw this.#endReason
  }

  #handleExit(reason: string, lastWords: string | undefined): void {
    const hasBegun = this.facts !== undefined
    const failure = this.#createFailure(hasBegun ? 'crash' : 'spawn', hasBegun ? 'process' : 'initialize', reason)
    failure.lastWords = lastWords
    void this.terminate(failure)
  }

  async #requestInTime(phase: StartPhase, method: string, params: JsonObject): Promise<unknown> {
    const { settings, clock } = this.#deps
    const ms = phase === 'session' ? settings.timeouts.sessionMs : settings.timeouts.initializeMs
    const expiry = Promise.withResolvers<never>()
    const stopTimer = clock.after(Math.min(ms, MAX_TIMER), () =>
      expiry.reject(this.#createFailure('timeout', phase, `${method} timed out after ${ms} ms`)),
    )
    try {
      return await Promise.race([this.#connection.requestAgent(method, params), expiry.promise])
    } catch (error) {
      throw toAgentFailure(error, settings.id, phase)
    } finally {
      stopTimer()
    }
  }

  /** Runs one turn. `meta` is sent as `_meta`, for example `traceparent`. @throws AgentFailure */
  async prompt(content: readonly JsonObject[], meta?: JsonObject): Promise<TurnEnd> {
    const { settings, clock } = this.#deps
    if (this.#endReason !== undefined) throw this.#endReason
    if (this.#running !== undefined) throw this.#createFailure('busy', 'prompt', 'another turn is in progress')
    const failed = Promise.withResolvers<never>()
    const { idleMs } = settings.timeouts
    const turn = new Turn(clock, idleMs, () => {
      void this.terminate(this.#createFailure('timeout', 'idle', `no activity within ${idleMs} ms`))
    })
    const completion = Promise.race([this.#sendPrompt(content, meta), failed.promise])
    this.#running = { turn, fail: failed.reject, completion }
    try {
      const end = await completion
      return turn.isCancelled ? { ...end, stopReason: 'cancelled' } : end
    } catch (error) {
      // The cancellation came first and takes precedence.
      if (turn.isCancelled) return CANCELLED
      throw error
    } finally {
      turn.finish()
      this.#running = undefined
    }
  }

  async #sendPrompt(content: readonly JsonObject[], meta: JsonObject | undefined): Promise<TurnEnd> {
    const { settings, onFailure } = this.#deps
    const params = { sessionId: this.id, prompt: content, ...(meta === undefined ? {} : { _meta: meta }) }
    try {
      return this.#parseTurnEnd(await this.#connection.requestAgent('session/prompt', params))
    } catch (error) {
      const failure = toAgentFailure(error, settings.id, 'prompt')
      onFailure(failure)
      throw failure
    } finally {
      this.#stopCancelTimer?.()
      this.#stopCancelTimer = undefined
    }
  }

  #parseTurnEnd(answer: unknown): TurnEnd {
    const { stopReason, usage } = isObject(answer) ? answer : ({} as JsonObject)
    const knownReason = REASONS.find(each => each === stopReason)
    if (knownReason !== undefined) return { stopReason: knownReason, usage: isObject(usage) ? usage : undefined }
    const reason = JSON.stringify(stopReason)?.slice(0, 100) ?? 'nothing'
    throw this.#createFailure('protocol', 'prompt', `unknown stopReason: ${reason}`)
  }

  /**
   * Sends `session/cancel` and terminates the process after `timeouts.cancelMs`; the prompt resolves with
   * `cancelled`.
   */
  cancel(): void {
    const { settings, clock } = this.#deps
    const { cancelMs } = settings.timeouts
    if (this.#running === undefined || this.#running.turn.isCancelled) return
    this.#running.turn.cancel()
    this.#connection.notify('session/cancel', { sessionId: this.id })
    const message = `process stopped: the turn did not end within ${cancelMs} ms after cancellation`
    this.#stopCancelTimer = clock.after(cancelMs, () => {
      void this.terminate(this.#createFailure('crash', 'cancel', message))
    })
  }

  /** Cancels the turn and stops the process. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.cancel()
    await this.#running?.completion.catch(() => undefined)
    await this.terminate(this.#createFailure('stopped', 'prompt', 'the session was closed'))
  }

  /** Fails everything that is pending and stops the process; resolves when it has exited. */
  terminate(failure: AgentFailure): Promise<void> {
    if (this.#endReason !== undefined) return this.#exited
    this.#endReason = failure
    this.#connection.abort(failure)
    this.#stopCancelTimer?.()
    this.#running?.fail(failure)
    this.#exited = Promise.resolve(this.#program?.stop()).then(() => this.#deps.onExit())
    return this.#exited
  }

  #handleNotification(method: string, { sessionId, update }: JsonObject): void {
    if (method !== 'session/update' || !isObject(update) || !this.#isOwn(sessionId)) return
    if (this.#isReplaying || this.#isClosing) return
    this.#running?.turn.recordActivity()
    this.#notifyHandler(() => this.#deps.request.handler.update(readUpdate(update, this.#calls)))
  }

  /** Updates may arrive before the session id has been read. */
  #isOwn(sessionId: unknown): boolean {
    return this.id === '' || sessionId === this.id
  }

  #notifyHandler(notify: () => void): void {
    try {
      notify()
    } catch (error) {
      this.#deps.log.error('cannot handle agent update', { why: getErrorMessage(error) })
    }
  }

  /** Handles a request from the agent. `signal` is aborted when the agent cancels it. */
  async #handleRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const isPermission = method === 'session/request_permission'
    if (!isPermission && method !== 'elicitation/create')
      throw new RpcFault(CODES.methodNotFound, `Method not found: ${method.slice(0, 128)}`)
    const turn = this.#isOwn(params.sessionId) ? this.#running?.turn : undefined
    turn?.recordActivity()
    if (isPermission) return this.#handlePermission(params, turn, signal)
    if (turn === undefined || turn.isCancelled) throw new RpcFault(CODES.cancelled, 'The turn is over')
    const { handler } = this.#deps.request
    return turn.waitForAnswer(() => handler.elicit(params, AbortSignal.any([signal, turn.signal])))
  }

  async #handlePermission(params: JsonObject, turn: Turn | undefined, signal: AbortSignal): Promise<JsonObject> {
    const { handler } = this.#deps.request
    const request = readPermission(params, this.#calls)
    if (request === undefined) throw new RpcFault(CODES.invalidParams, 'toolCall.toolCallId is missing')
    const { call, options, isNew } = request
    if (isNew) this.#notifyHandler(() => handler.update({ is: 'tool', call, isNew }))
    if (turn === undefined || turn.isCancelled) return REFUSED
    const both = AbortSignal.any([signal, turn.signal])
    const outcome = await turn.waitForAnswer(() =>
      Promise.race([handler.permission({ call, options, signal: both }), waitForAbort(both)]),
    )
    const isOffered = outcome !== 'cancelled' && options.some(({ optionId }) => optionId === outcome.optionId)
    return isOffered ? { outcome: { outcome: 'selected', optionId: outcome.optionId } } : REFUSED
  }

  #createFailure(kind: AgentFailure['kind'], phase: string, message: string): AgentFailure {
    return new AgentFailure(kind, phase, `agent "${this.#deps.settings.id}": ${message}`)
  }
}

function waitForAbort(signal: AbortSignal): Promise<'cancelled'> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve('cancelled'), { once: true }))
}

/** Detects a silent agent. Pending answers from the gateway suspend the timeout. */
class Turn {
  readonly #clock: Clock
  readonly #idleMs: number
  readonly #expire: () => void
  readonly #cancelled = new AbortController()
  #stopWatch: () => void = () => undefined
  #lastActivityAt: number
  #pendingAnswers = 0

  constructor(clock: Clock, idleMs: number, expire: () => void) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#expire = expire
    this.#lastActivityAt = clock.now()
    this.#watchIdle()
  }

  /** Aborted when the turn ends or is cancelled. */
  get signal(): AbortSignal {
    return this.#cancelled.signal
  }

  get isCancelled(): boolean {
    return this.#cancelled.signal.aborted
  }

  cancel(): void {
    this.#cancelled.abort()
  }

  /** Records agent activity. Called for every update, so it only stores the time. */
  recordActivity(): void {
    this.#lastActivityAt = this.#clock.now()
  }

  /** Suspends the timeout while the agent waits for an answer. */
  async waitForAnswer<T>(answer: () => Promise<T>): Promise<T> {
    this.#pendingAnswers++
    try {
      return await answer()
    } finally {
      this.#pendingAnswers--
      this.recordActivity()
    }
  }

  finish(): void {
    this.#stopWatch()
    this.#cancelled.abort()
  }

  #watchIdle(): void {
    const silentMs = this.#pendingAnswers > 0 ? 0 : this.#clock.now() - this.#lastActivityAt
    if (silentMs >= this.#idleMs) return this.#expire()
    this.#stopWatch = this.#clock.after(Math.min(this.#idleMs - silentMs, MAX_TIMER), () => this.#watchIdle())
  }
}
