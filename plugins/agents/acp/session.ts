import type { AgentFacts, SessionHandler, TurnEnd } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { Clock, JsonObject, Log } from '../../../src/plugin.ts'
import { isObject, getErrorMessage } from '../../../src/plugin.ts'
import type { AgentSettings } from '../settings.ts'
import { CODES, toAgentFailure, RpcFault } from './rpc-connection.ts'
import { readPermission, readUpdate, ToolCalls } from './session-updates.ts'

/** Maximum timer delay in Node. */
const MAX_TIMER = 2 ** 31 - 1

const REASONS = ['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled'] as const

const CANCELLED: TurnEnd = { stopReason: 'cancelled', usage: undefined }

const REFUSED = { outcome: { outcome: 'cancelled' } }

const TOO_LATE: Record<TurnPhase, string> = {
  firstUpdate: 'no activity after the prompt',
  idle: 'no further activity',
  turn: 'the turn did not end',
}

/** Process interface that a session needs. */
export interface SessionProcess {
  readonly settings: AgentSettings
  readonly clock: Clock
  readonly log: Log
  readonly pid: number | undefined
  readonly facts: AgentFacts
  session: LiveSession | undefined
  /** @throws RpcFault, or the failure that terminated the process */
  sendRequest(method: string, params: JsonObject): Promise<unknown>
  /** Sends a request that must be answered within `ms`. @throws AgentFailure */
  requestInTime(phase: string, method: string, params: JsonObject, ms: number): Promise<unknown>
  notify(method: string, params: JsonObject): void
  reportTurnFailure(failure: AgentFailure): void
  terminate(failure: AgentFailure): void
}

interface RunningTurn {
  readonly turn: Turn
  /** Ends the turn for the caller, regardless of the agent. */
  readonly settle: (failure: AgentFailure) => void
  /** Resolves when the turn has ended for the caller. */
  readonly completion: Promise<unknown>
}

/** A session, limited to one prompt at a time. */
export type AgentSession = Pick<LiveSession, 'id' | 'pid' | 'ownMode' | 'prompt' | 'cancel' | 'close'>

export class LiveSession {
  /** Session id chosen by the agent. */
  readonly id: string
  /** Mode that the agent chose; undefined if it has none or the settings specify one. */
  ownMode: string | undefined
  /** True while a loaded session replays its history, which is discarded. */
  isReplaying: boolean
  readonly #process: SessionProcess
  readonly #handler: SessionHandler
  readonly #calls = new ToolCalls()
  #running: RunningTurn | undefined
  #stopEnd: (() => void) | undefined
  #failed: AgentFailure | undefined
  #closing: Promise<void> | undefined
  /** Stops the process. */
  release: () => Promise<void> = () => Promise.resolve()

  constructor(process: SessionProcess, id: string, handler: SessionHandler, isReplaying: boolean) {
    this.#process = process
    this.id = id
    this.isReplaying = isReplaying
    this.#handler = handler
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Runs one turn. `meta` is sent as `_meta`, for example `traceparent`. @throws AgentFailure */
  async prompt(content: readonly JsonObject[], meta?: JsonObject): Promise<TurnEnd> {
    const { settings, clock } = this.#process
    if (this.#failed !== undefined) throw this.#failed
    if (this.#closing !== undefined) throw this.#createFailure('stopped', 'the session was closed')
    if (this.#running !== undefined) throw this.#createFailure('busy', 'another turn is in progress')
    const over = Promise.withResolvers<never>()
    const turn = new Turn(clock, settings.timeouts, (phase, ms) => this.#expire(phase, ms))
    const answered = this.#sendPrompt(content, meta)
    const completion = Promise.race([answered, over.promise])
    this.#running = { turn, settle: over.reject, completion }
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
    const params = { sessionId: this.id, prompt: content, ...(meta === undefined ? {} : { _meta: meta }) }
    try {
      const answer = await this.#process.sendRequest('session/prompt', params)
      return this.#parseTurnEnd(answer)
    } catch (error) {
      const failure = toAgentFailure(error, this.#process.settings.id, 'prompt')
      this.#process.reportTurnFailure(failure)
      throw failure
    } finally {
      this.#stopEnd?.()
      this.#stopEnd = undefined
    }
  }

  #parseTurnEnd(answer: unknown): TurnEnd {
    const { stopReason, usage } = isObject(answer) ? answer : ({} as JsonObject)
    const knownReason = REASONS.find(each => each === stopReason)
    if (knownReason !== undefined) return { stopReason: knownReason, usage: isObject(usage) ? usage : undefined }
    const reason = JSON.stringify(stopReason)?.slice(0, 100) ?? 'nothing'
    throw this.#createFailure('protocol', `unknown stopReason: ${reason}`)
  }

  /**
   * Sends `session/cancel` and terminates the process after `timeouts.cancelMs`; the prompt resolves with
   * `cancelled`.
   */
  cancel(): void {
    if (this.#running === undefined || this.#running.turn.isCancelled) return
    this.#running.turn.cancel()
    this.#requestEnd()
  }

  /** Cancels the turn; terminates the process if the turn does not end in time. */
  #requestEnd(): void {
    const { settings, clock } = this.#process
    const { cancelMs } = settings.timeouts
    this.#process.notify('session/cancel', { sessionId: this.id })
    this.#stopEnd ??= clock.after(cancelMs, () =>
      this.#process.terminate(
        this.#createFailure(
          'crash',
          `process stopped: the turn did not end within ${cancelMs} ms after cancellation`,
          'cancel',
        ),
      ),
    )
  }

  #expire(phase: TurnPhase, ms: number): void {
    const failure = this.#createFailure('timeout', `${TOO_LATE[phase]} within ${ms} ms`, phase)
    this.#failed = failure
    this.#running?.settle(failure)
    this.#process.terminate(failure)
  }

  /** Called when the process has exited. */
  fail(failure: AgentFailure): void {
    this.#failed ??= failure
    this.#stopEnd?.()
    this.#running?.settle(failure)
  }

  handleUpdate(update: JsonObject): void {
    if (this.isReplaying || this.#closing !== undefined) return
    this.#running?.turn.recordActivity()
    this.#notifyHandler(() => this.#handler.update(readUpdate(update, this.#calls)))
  }

  #notifyHandler(notify: () => void): void {
    try {
      notify()
    } catch (error) {
      this.#process.log.error('cannot handle agent update', { why: getErrorMessage(error) })
    }
  }

  /** Handles a request for this session. `signal` is aborted when the agent cancels it. */
  async handleRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const turn = this.#running?.turn
    turn?.recordActivity()
    if (method === 'session/request_permission') return this.#handlePermission(params, turn, signal)
    if (method !== 'elicitation/create')
      throw new RpcFault(CODES.methodNotFound, `Method not found: ${method.slice(0, 128)}`)
    if (turn === undefined || turn.isCancelled) throw new RpcFault(CODES.cancelled, 'The turn is over')
    turn.pauseIdle()
    try {
      return await this.#handler.elicit(params, AbortSignal.any([signal, turn.signal]))
    } finally {
      turn.resumeIdle()
    }
  }

  async #handlePermission(params: JsonObject, turn: Turn | undefined, signal: AbortSignal): Promise<JsonObject> {
    const request = readPermission(params, this.#calls)
    if (request === undefined) throw new RpcFault(CODES.invalidParams, 'toolCall.toolCallId is missing')
    const { call, options, isNew } = request
    if (isNew) this.#notifyHandler(() => this.#handler.update({ is: 'tool', call, isNew }))
    if (turn === undefined || turn.isCancelled) return REFUSED
    turn.pauseIdle()
    try {
      const both = AbortSignal.any([signal, turn.signal])
      const outcome = await Promise.race([
        this.#handler.permission({ call, options, signal: both }),
        waitForAbort(both),
      ])
      const isOffered = outcome !== 'cancelled' && options.some(({ optionId }) => optionId === outcome.optionId)
      return isOffered ? { outcome: { outcome: 'selected', optionId: outcome.optionId } } : REFUSED
    } finally {
      turn.resumeIdle()
    }
  }

  /** Stops the process. */
  close(): Promise<void> {
    this.#closing ??= this.#closeProcess()
    return this.#closing
  }

  async #closeProcess(): Promise<void> {
    this.cancel()
    await this.#running?.completion.catch(() => undefined)
    await this.release()
  }

  #createFailure(kind: AgentFailure['kind'], message: string, phase = 'prompt'): AgentFailure {
    return new AgentFailure(kind, phase, `agent "${this.#process.settings.id}": ${message}`)
  }
}

function waitForAbort(signal: AbortSignal): Promise<'cancelled'> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve('cancelled'), { once: true }))
}

type TurnPhase = 'firstUpdate' | 'idle' | 'turn'

/** Tracks the turn timeouts. Pending answers from the gateway suspend the idle timeout. */
class Turn {
  readonly #clock: Clock
  readonly #timeouts: AgentSettings['timeouts']
  readonly #expire: (phase: TurnPhase, ms: number) => void
  readonly #cancelled = new AbortController()
  readonly #stopWhole: () => void
  #stopWatch: () => void = () => undefined
  #lastActivityAt: number
  #hasActivity = false
  #pendingAnswers = 0

  constructor(clock: Clock, timeouts: AgentSettings['timeouts'], expire: (phase: TurnPhase, ms: number) => void) {
    this.#clock = clock
    this.#timeouts = timeouts
    this.#expire = expire
    this.#lastActivityAt = clock.now()
    const { turnMs } = timeouts
    this.#stopWhole = clock.after(Math.min(turnMs, MAX_TIMER), () => expire('turn', turnMs))
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
    if (this.#hasActivity) return
    this.#hasActivity = true
    this.#stopWatch()
    this.#watchIdle()
  }

  /** Suspends the idle timeout while the agent waits for an answer. */
  pauseIdle(): void {
    this.#pendingAnswers++
  }

  resumeIdle(): void {
    this.#pendingAnswers--
    this.#lastActivityAt = this.#clock.now()
  }

  finish(): void {
    this.#stopWatch()
    this.#stopWhole()
    this.#cancelled.abort()
  }

  #watchIdle(): void {
    const phase = this.#hasActivity ? 'idle' : 'firstUpdate'
    const limit = this.#timeouts[`${phase}Ms`]
    const remainingMs = this.#pendingAnswers > 0 ? limit : this.#lastActivityAt + limit - this.#clock.now()
    if (remainingMs <= 0) return this.#expire(phase, limit)
    this.#stopWatch = this.#clock.after(Math.min(remainingMs, MAX_TIMER), () => this.#watchIdle())
  }
}
