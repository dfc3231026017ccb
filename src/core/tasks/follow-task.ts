import type { Answer, Clock } from '../../api/index.ts'
import { getErrorMessage } from '../../errors/errors.ts'
import type { TaskState } from '../../protocol/era/convert.ts'
import { isTerminal, readTask, removeRelatedTask } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { Era } from '../../protocol/methods.ts'
import { createDetachedExchange } from '../catalog/fetch-lists.ts'
import { collectReplies, parseInputRequests, createCancelledAnswer, toLegacyRequest } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import { PipelineCall } from '../exchange.ts'
import type { Graph } from '../graph-types.ts'

/** Poll interval bounds, whatever the server suggests. */
const MIN_POLL_MS = 50
const MAX_POLL_MS = 30_000
const POLL_MS = 1000
/** Consecutive poll failures before the task is cancelled. */
const MAX_FAILURES = 5

interface FollowTaskDeps {
  readonly graph: Graph
  readonly upstream: string
  readonly exchange: PipelineExchange
  /** The call that became the task, or another that is cancelled with it. */
  readonly call: PipelineCall
  /** Called with each state. */
  readonly sees?: (state: TaskState) => void
}

/**
 * Polls a server's task until it ends, replies to its input requests, and returns the result of the original call.
 */
export async function followTask(followed: FollowTaskDeps, task: Payload): Promise<Answer> {
  const state = readTask(task.value())
  if (state === undefined) return createFollowError('the server returned an invalid task')
  const follower = new TaskFollower(followed, state, task.era ?? 'legacy')
  const takeBack = followed.call.onCancel(() => follower.cancel())
  try {
    return await follower.waitForAnswer()
  } finally {
    takeBack()
  }
}

class TaskFollower {
  readonly #of: FollowTaskDeps
  readonly #era: Era
  readonly #taskId: string
  readonly #answered = new Set<string>()
  #state: TaskState
  #value: JsonObject | undefined
  #failures = 0

  constructor(of: FollowTaskDeps, state: TaskState, era: Era) {
    this.#of = of
    this.#era = era
    this.#taskId = state.taskId
    this.#state = state
  }

  cancel(): void {
    const { graph, exchange } = this.#of
    // Cancel in a detached exchange, as the original one may be cancelled, with all its calls.
    const own = createDetachedExchange(graph, exchange.session, 'tasks/cancel')
    void this.#requestServer('tasks/cancel', undefined, own).catch(() => undefined)
  }

  async waitForAnswer(): Promise<Answer> {
    for (;;) {
      this.#of.sees?.(this.#state)
      if (this.#of.call.isGivenUp) return createCancelledAnswer()
      const answer = await this.#pollOnce()
      if (answer !== undefined) return answer
      if (this.#of.call.isGivenUp) return createCancelledAnswer()
      const problem = await this.#fetchState()
      if (problem !== undefined) return problem
    }
  }

  /** Returns the final answer, or undefined to poll again. */
  #pollOnce(): Promise<Answer | undefined> {
    return this.#era === 'legacy' ? this.#pollLegacy() : this.#pollModern()
  }

  async #pollLegacy(): Promise<Answer | undefined> {
    const { status, statusMessage } = this.#state
    if (status === 'cancelled') return createFollowError(statusMessage ?? 'the server cancelled the task')
    // A legacy server sends its input requests while it waits for `tasks/result`.
    if (isTerminal(status) || status === 'input_required') return this.#fetchResult()
    await this.#waitForPoll()
    return undefined
  }

  async #pollModern(): Promise<Answer | undefined> {
    const { status } = this.#state
    // The answer that creates a task holds neither its result nor its input requests.
    if (this.#value === undefined && status !== 'working') return undefined
    if (this.#value !== undefined && isTerminal(status)) return createTaskAnswer(this.#state, this.#value)
    if (status === 'input_required') {
      const problem = await this.#answerRequests(this.#value?.inputRequests)
      if (problem !== undefined) return problem
    }
    await this.#waitForPoll()
    return undefined
  }

  async #fetchState(): Promise<Answer | undefined> {
    try {
      const answer = await this.#requestServer('tasks/get')
      if (!('result' in answer)) return answer
      const value = answer.result.value()
      const state = readTask(value)
      if (state === undefined) return createFollowError('the server returned an invalid task state')
      this.#state = state
      this.#value = value
      this.#failures = 0
      return undefined
    } catch (error) {
      if (++this.#failures >= MAX_FAILURES) throw error
      this.#of.graph.log.debug('polling a task failed', {
        upstream: this.#of.upstream,
        why: getErrorMessage(error),
      })
      return undefined
    }
  }

  /** Undefined if the wait timed out: polling continues. */
  async #fetchResult(): Promise<Answer | undefined> {
    try {
      const answer = await this.#requestServer('tasks/result')
      return 'result' in answer ? { result: Payload.of(removeRelatedTask(answer.result.value()), 'legacy') } : answer
    } catch (error) {
      if (isTerminal(this.#state.status) || ++this.#failures >= MAX_FAILURES) throw error
      return undefined
    }
  }

  async #answerRequests(requests: unknown): Promise<Answer | undefined> {
    const { exchange } = this.#of
    const open = parseInputRequests(requests).filter(([key]) => !this.#answered.has(key))
    if (open.length === 0) return undefined
    const isLegacy = exchange.session.client.era === 'legacy'
    const inputResponses = await collectReplies(open, ask => exchange.ask(isLegacy ? toLegacyRequest(ask) : ask))
    if (typeof inputResponses === 'string') {
      this.cancel()
      return createFollowError(inputResponses)
    }
    for (const [key] of open) this.#answered.add(key)
    const answer = await this.#requestServer('tasks/update', { inputResponses })
    return 'error' in answer ? answer : undefined
  }

  #requestServer(method: string, more?: JsonObject, exchange = this.#of.exchange): Promise<Answer> {
    const { graph, upstream } = this.#of
    return sendTaskRequest({ graph, upstream, exchange }, method, { taskId: this.#taskId, ...more })
  }

  #waitForPoll(): Promise<void> {
    const { graph, call } = this.#of
    return waitForPoll(graph.clock, this.#state.pollIntervalMs, call)
  }
}

/** Waits until the next poll, or until the exchange or call is cancelled. */
export function waitForPoll(
  clock: Clock,
  pollIntervalMs = POLL_MS,
  by: { onCancel(listener: () => void): () => void },
): Promise<void> {
  const ms = Math.max(MIN_POLL_MS, Math.min(pollIntervalMs, MAX_POLL_MS))
  return new Promise(resolve => {
    const takeBack = clock.after(ms, () => {
      forget()
      resolve()
    })
    const forget = by.onCancel(() => {
      takeBack()
      resolve()
    })
  })
}

/** Sends a task request to its server by the current configuration. */
export function sendTaskRequest(
  about: { readonly graph: Graph; readonly upstream: string; readonly exchange: PipelineExchange },
  method: string,
  params: JsonObject,
): Promise<Answer> {
  const graph = about.graph.tasks.graph ?? about.graph
  const node = graph.upstreams.get(about.upstream)
  if (node === undefined)
    return Promise.resolve(createFollowError(`the upstream of this task is no longer configured: ${about.upstream}`))
  const call = new PipelineCall(about.upstream, method, params, about.exchange)
  graph.hooks.getRunner('call', method)?.(call)
  return node.dispatch(call)
}

function createTaskAnswer({ status, statusMessage }: TaskState, { result, error }: JsonObject): Answer {
  if (status === 'completed' && isObject(result)) return { result: Payload.of(result) }
  if (isObject(error) && typeof error.code === 'number' && typeof error.message === 'string')
    return { error: rpcError(error.code, error.message, error.data) }
  return createFollowError(statusMessage ?? `the task ${status === 'completed' ? 'has no result' : `was ${status}`}`)
}

function createFollowError(reason: string): { error: ReturnType<typeof rpcError> } {
  return { error: rpcError(RPC.internal, reason) }
}
