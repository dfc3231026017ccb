import { randomUUID } from 'node:crypto'
import type { Answer, Ask, AskReply, ClientDescription } from '../../api/index.ts'
import type { TaskState } from '../../protocol/era/convert.ts'
import { isTerminal, removeRelatedTask } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { createCannotAskReply, parseInputResponse, createInputRequests } from '../client-request.ts'

interface TaskInputRequest {
  readonly ask: Ask
  readonly reply: (reply: AskReply) => void
}

/** Poll interval that clients are asked to use. */
const POLL_MS = 1000
/** Maximum pending input requests per task. */
const MAX_INPUT_REQUESTS = 64

export interface ToolLocation {
  readonly upstream: string
  /** Tool name at its server. */
  readonly toolThere: string
}

interface HostedTaskOptions extends ToolLocation {
  readonly ttlMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly cancel: (reason: string) => void
}

/** A task hosted by the gateway: its state, its input requests and its result. */
export class HostedTask implements ToolLocation {
  readonly id = randomUUID()
  /** Id as exposed to the client. */
  taskId = ''
  readonly upstream: string
  readonly toolThere: string
  readonly #init: HostedTaskOptions
  readonly #createdAt: string
  readonly #open = new Map<string, TaskInputRequest>()
  readonly #watchers = new Set<() => void>()
  #status: TaskState['status'] = 'working'
  #message: string | undefined
  #updatedAt: string
  #outcome: Answer | undefined
  #requestCount = 0

  constructor(init: HostedTaskOptions) {
    this.upstream = init.upstream
    this.toolThere = init.toolThere
    this.#init = init
    this.#createdAt = new Date(init.now()).toISOString()
    this.#updatedAt = this.#createdAt
  }

  /** Final answer; undefined while the work runs. */
  get outcome(): Answer | undefined {
    return this.#outcome
  }

  /** Pending input request count. */
  get openRequests(): number {
    return this.#open.size
  }

  get state(): TaskState {
    return {
      taskId: this.taskId,
      status: this.#status,
      ...(this.#message === undefined ? {} : { statusMessage: this.#message }),
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
      ttlMs: this.#init.ttlMs,
      pollIntervalMs: POLL_MS,
    }
  }

  /** Returns the state for `tasks/get` (2026-07-28). */
  describeFor(client: ClientDescription): JsonObject {
    const { state } = this
    if (state.status === 'input_required') return { ...state, inputRequests: createInputRequests(this.#open, client) }
    if (this.#outcome === undefined) return { ...state }
    if ('error' in this.#outcome)
      return state.status === 'failed' ? { ...state, error: this.#outcome.error } : { ...state }
    if (!('result' in this.#outcome)) return { ...state }
    // The result has the same form as a modern server's immediate answer; a tool error is part of it.
    return {
      ...state,
      status: 'completed',
      result: { resultType: 'complete', ...removeRelatedTask(this.#outcome.result.value()) },
    }
  }

  updateMessage(message: string): void {
    if (isTerminal(this.#status) || message === this.#message) return
    this.#message = message
    this.#notifyWatchers()
  }

  /** Adds an input request, and waits for the client's reply. */
  ask(ask: Ask): Promise<AskReply> {
    if (isTerminal(this.#status) || this.#open.size >= MAX_INPUT_REQUESTS)
      return Promise.resolve(createCannotAskReply(ask))
    return new Promise(reply => {
      this.#open.set(`ask-${++this.#requestCount}`, { ask, reply })
      this.#status = 'input_required'
      this.#notifyWatchers()
    })
  }

  /** Handles a modern client's replies, by key. Unknown or already answered keys are ignored. */
  receiveReplies(responses: JsonObject, client: ClientDescription): void {
    for (const [key, { ask }] of [...this.#open]) {
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined
      if (isObject(response)) this.#replyToRequest(key, parseInputResponse(ask, response, client))
    }
  }

  #replyToRequest(key: string, reply: AskReply): void {
    const open = this.#open.get(key)
    if (open === undefined) return
    this.#open.delete(key)
    if (this.#open.size === 0 && this.#status === 'input_required') this.#status = 'working'
    this.#notifyWatchers()
    open.reply(reply)
  }

  settle(answer: Answer, status: TaskState['status'] = getFinalStatus(answer)): void {
    if (isTerminal(this.#status)) return
    this.#outcome = answer
    this.#status = status
    if ('error' in answer) this.#message = answer.error.message
    for (const { ask, reply } of this.#open.values()) reply(createCannotAskReply(ask))
    this.#open.clear()
    this.#notifyWatchers()
  }

  /** Cancels the task. False if it has already ended. */
  cancel(reason: string): boolean {
    if (isTerminal(this.#status)) return false
    this.settle({ error: rpcError(RPC.internal, reason, { code: 'GW_CANCELLED' }) }, 'cancelled')
    this.#init.cancel(reason)
    return true
  }

  /** Calls `watcher` after each change; returns a function that removes it. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  #notifyWatchers(): void {
    this.#updatedAt = new Date(this.#init.now()).toISOString()
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** A tool result with `isError` fails its task (2025-11-25, tasks). */
function getFinalStatus(answer: Answer): TaskState['status'] {
  return 'result' in answer && !answer.result.isToolError ? 'completed' : 'failed'
}
