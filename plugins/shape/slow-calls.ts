import type { Answer, Call, Clock, JsonObject, PluginApi, RunningCall } from '../../src/plugin.ts'
import { BoundedMap, isObject, Payload, createUpstreamAnswer } from '../../src/plugin.ts'
import { toolFailure } from './read-result.ts'
import { META_KEY } from './shape-result.ts'

/** Maximum running calls, in total and per owner. */
const MAX_RUNNING = 2000
const MAX_RUNNING_PER_OWNER = 100
/** Call and answer lifetime. */
const KEEP_MS = 3_600_000
/** Maximum wait per `result` call, below its deadline. */
const MAX_WAIT_MS = 45_000
/** Share of the client's timeout for one wait; the remainder covers transfer. */
const PATIENCE_SHARE = 0.9

const UNKNOWN_HANDLE = 'no call found for this handle: it has expired, was evicted, or the gateway was restarted'

interface SlowCall {
  readonly owner: string
  readonly running: RunningCall
  readonly tool: string
  readonly waitMs: number
}

type SlowCallDeps = Pick<PluginApi, 'clock' | 'handles' | 'log'>

/** Calls that continue after their timeout, for clients without tasks. Shared by all generations. */
export class SlowCalls {
  readonly #calls = new BoundedMap<string, SlowCall>({ max: MAX_RUNNING, share: MAX_RUNNING_PER_OWNER })
  readonly #ownAnswers = new WeakSet<Payload>()
  readonly #waits = new Set<() => void>()
  #count = 0

  /** Slow calls so far. */
  get count(): number {
    return this.#count
  }

  /** True for an answer created here, which needs no shaping. */
  isOwnAnswer(result: Payload): boolean {
    return this.#ownAnswers.has(result)
  }

  /** Creates the timeout of a call's client, and the answer after it. */
  createPatience(
    call: Call,
    owner: string,
    ms: number,
    { handles, log }: SlowCallDeps,
  ): { ms: number; retainMs: number; createAnswer(running: RunningCall): Answer } {
    const tool = String(call.exchange.params?.name)
    const createAnswer = (running: RunningCall): Answer => {
      const key = `slow-${++this.#count}`
      const waitMs = Math.min(Math.max(1, Math.floor(ms * PATIENCE_SHARE)), MAX_WAIT_MS)
      this.#calls.set(key, { owner, running, tool, waitMs }, owner)
      log.info('client timeout reached, call continues in the background', { tool, ms })
      return this.#createWorkingAnswer(handles.seal(key, owner, KEEP_MS), tool)
    }
    return { ms, retainMs: KEEP_MS, createAnswer }
  }

  /** `result`: waits for a call, forwards its client requests and returns its answer; or cancels it. */
  async answerResult(call: Call, args: JsonObject, owner: string, { handles, clock }: SlowCallDeps): Promise<Answer> {
    const handle = String(args.handle)
    const key = handles.open(handle, owner)
    const entry = key === undefined ? undefined : this.#calls.get(key)
    if (entry?.owner !== owner) return toolFailure(UNKNOWN_HANDLE)
    const { running, tool } = entry
    if (args.cancel === true) running.cancel('cancelled by the caller')
    const { client } = call.exchange.session
    if (isObject(call.params?.inputResponses)) running.submitResponses(call.params.inputResponses, client)
    await this.#waitForChange(running, call, getWaitMs(args, entry), clock)
    if (running.answer !== undefined) return running.answer
    const inputRequests = running.getInputRequests(client)
    if (inputRequests === undefined) return this.#createWorkingAnswer(handle, tool, running.message)
    return {
      input: Payload.of({ resultType: 'input_required', inputRequests, requestState: 'asked' }, 'modern'),
    }
  }

  /** Ends every wait at shutdown; clients get the handle again. */
  stopWaiting(): void {
    for (const wake of [...this.#waits]) wake()
  }

  #createWorkingAnswer(handle: string, tool: string, message?: string): Answer {
    const progress = message === undefined ? '' : ` (${message})`
    const text = `The call to ${tool} is still running${progress}. Get its answer with the tool "result": {"handle": "${handle}"}`
    const answer = createUpstreamAnswer({
      content: [{ type: 'text', text }],
      _meta: { [META_KEY]: { handle, status: 'working' } },
    })
    if ('result' in answer) this.#ownAnswers.add(answer.result)
    return answer
  }

  /** Resolves when the call ends or needs input, on timeout, or on cancellation. */
  #waitForChange(running: RunningCall, call: Call, ms: number, clock: Clock): Promise<void> {
    const { client } = call.exchange.session
    const isOver = (): boolean => running.answer !== undefined || running.getInputRequests(client) !== undefined
    if (isOver() || ms === 0) return Promise.resolve()
    return new Promise(resolve => {
      const wake = (): void => {
        this.#waits.delete(wake)
        disarm()
        unwatch()
        unlisten()
        resolve()
      }
      this.#waits.add(wake)
      const disarm = clock.after(ms, wake)
      const unwatch = running.watch(() => {
        if (isOver()) wake()
      })
      let unlisten = (): void => undefined
      unlisten = call.onCancel(wake)
    })
  }
}

function getWaitMs({ wait_ms: wait }: JsonObject, { waitMs }: SlowCall): number {
  return typeof wait === 'number' && wait >= 0 ? Math.min(wait, waitMs) : waitMs
}
