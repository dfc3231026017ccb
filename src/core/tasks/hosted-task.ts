import { randomUUID } from 'node:crypto'
import type { Answer, Ask, AskReply, ClientDescription, Exchange } from '../../api/index.ts'
import { hasFailed } from '../../api/exchange.ts'
import type { TaskState } from '../../protocol/era/tasks.ts'
import { isTerminal, addRelatedTask, removeRelatedTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { createCannotAskReply, parseInputResponse, createInputRequests } from '../client-request.ts'

interface TaskInputRequest {
  readonly ask: Ask
  readonly reply: (reply: AskReply) => void
  /** Set while a legacy client is being asked. */
  isAsked: boolean
}

/** Asks of one task that wait for the client at once. */
const MAX_INPUT_REQUESTS = 64

/** The tool of an upstream that a call is to. */
export interface ToolLocation {
  readonly upstream: string
  /** Name by which its server knows the tool. */
  readonly toolThere: string
}

interface HostedTaskOptions extends ToolLocation {
  readonly ttlMs: number
  readonly pollIntervalMs: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Cancels the work. */
  readonly cancel: (reason: string) => void
}

/** A task that we keep ourselves, whoever does the work: its state, what it asks, and what came of it. */
export class HostedTask implements ToolLocation {
  readonly id = randomUUID()
  /** Id by which the client knows the task. */
  taskId = ''
  readonly upstream: string
  readonly toolThere: string
  readonly #init: HostedTaskOptions
  readonly #createdAt: string
  readonly #open = new Map<string, TaskInputRequest>()
  readonly #watchers = new Set<() => void>()
  #status: TaskState['status'] = 'working'
  #message: string | undefined
  #pollIntervalMs: number
  #updatedAt: string
  #outcome: Answer | undefined
  #asked = 0

  constructor(init: HostedTaskOptions) {
    this.upstream = init.upstream
    this.toolThere = init.toolThere
    this.#init = init
    this.#pollIntervalMs = init.pollIntervalMs
    this.#createdAt = new Date(init.now()).toISOString()
    this.#updatedAt = this.#createdAt
  }

  /** Answer of the work; undefined until it has ended. */
  get outcome(): Answer | undefined {
    return this.#outcome
  }

  /** Number of questions that it waits for its client to answer. */
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
      pollIntervalMs: this.#pollIntervalMs,
    }
  }

  /** The state with what belongs to it, as `tasks/get` of 2026-07-28 has it. */
  describeFor(client: ClientDescription): JsonObject {
    const { state } = this
    if (state.status === 'input_required')
      return { ...state, inputRequests: createInputRequests(this.#open, client) }
    if (this.#outcome === undefined) return { ...state }
    if ('error' in this.#outcome)
      return state.status === 'failed' ? { ...state, error: this.#outcome.error } : { ...state }
    if (!('result' in this.#outcome)) return { ...state }
    // The value is a whole result of the call, as from a modern server at once; that a tool failed is in the result.
    return {
      ...state,
      status: 'completed',
      result: { resultType: 'complete', ...removeRelatedTask(this.#outcome.result.value()) },
    }
  }

  /** Takes a status message from the work behind the task, and perhaps another poll interval. */
  updateStatus(message: string | undefined, pollIntervalMs = this.#pollIntervalMs): void {
    if (isTerminal(this.#status) || (message === this.#message && pollIntervalMs === this.#pollIntervalMs))
      return
    this.#message = message
    this.#pollIntervalMs = pollIntervalMs
    this.#notifyWatchers()
  }

  /** Needs something from the client, and waits until it comes for it. */
  ask(ask: Ask): Promise<AskReply> {
    if (isTerminal(this.#status) || this.#open.size >= MAX_INPUT_REQUESTS)
      return Promise.resolve(createCannotAskReply(ask))
    return new Promise(reply => {
      this.#open.set(`ask-${++this.#asked}`, { ask, reply, isAsked: false })
      this.#status = 'input_required'
      this.#notifyWatchers()
    })
  }

  /** A modern client's answers, by key. What is not asked, or was answered already, is passed over. */
  answer(responses: JsonObject, client: ClientDescription): void {
    for (const [key, { ask }] of [...this.#open]) {
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined
      if (isObject(response)) this.#replyToRequest(key, parseInputResponse(ask, response, client))
    }
  }

  /** Waits for the end, and asks this legacy client meanwhile what the work needs; undefined when it went away first. */
  async waitForResult(exchange: Exchange): Promise<Answer | undefined> {
    while (this.#outcome === undefined) {
      if (exchange.cancelled) return undefined
      for (const [key, open] of this.#open) if (!open.isAsked) void this.#askLegacyClient(exchange, key, open)
      await this.#changeStatus(exchange)
    }
    if (!('result' in this.#outcome)) return this.#outcome
    const { result } = this.#outcome
    return { result: Payload.of(addRelatedTask(this.taskId, result.value(), true), result.era) }
  }

  async #askLegacyClient(exchange: Exchange, key: string, open: TaskInputRequest): Promise<void> {
    open.isAsked = true
    const { method, params } = open.ask
    const reply = await exchange.ask({ method, params: addRelatedTask(this.taskId, params, true) })
    open.isAsked = false
    // A client that went away may come back for what it was asked.
    if ('error' in reply && exchange.cancelled) return
    this.#replyToRequest(key, 'result' in reply ? { result: removeRelatedTask(reply.result) } : reply)
  }

  #replyToRequest(key: string, reply: AskReply): void {
    const open = this.#open.get(key)
    if (open === undefined) return
    this.#open.delete(key)
    if (this.#open.size === 0 && this.#status === 'input_required') this.#status = 'working'
    this.#notifyWatchers()
    open.reply(reply)
  }

  /** The work has ended. */
  settle(answer: Answer, status: TaskState['status'] = getFinalStatus(answer)): void {
    if (isTerminal(this.#status)) return
    this.#outcome = answer
    this.#status = status
    if ('error' in answer) this.#message = answer.error.message
    for (const { ask, reply } of this.#open.values()) reply(createCannotAskReply(ask))
    this.#open.clear()
    this.#notifyWatchers()
  }

  /** Cancels a task that nobody wants any more. False when it had ended already. */
  cancel(reason: string): boolean {
    if (isTerminal(this.#status)) return false
    this.settle({ error: rpcError(RPC.internal, reason, { code: 'GW_CANCELLED' }) }, 'cancelled')
    this.#init.cancel(reason)
    return true
  }

  /** Runs `watcher` after each change; returns the way to take it back. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  #notifyWatchers(): void {
    this.#updatedAt = new Date(this.#init.now()).toISOString()
    for (const watcher of [...this.#watchers]) watcher()
  }

  #changeStatus(exchange: Exchange): Promise<void> {
    return new Promise(resolve => {
      const done = (): void => {
        takeBack()
        unwatch()
        resolve()
      }
      let takeBack = (): void => undefined
      const unwatch = this.watch(done)
      takeBack = exchange.onCancel(done)
    })
  }
}

/** As 2025-11-25 has it: a tool that says of its result that it failed ends its task as failed. */
function getFinalStatus(answer: Answer): TaskState['status'] {
  return 'result' in answer && !hasFailed(answer.result) ? 'completed' : 'failed'
}
