import { type Answer, type Call, type Exchange, isObject, Payload } from '../../../src/plugin.ts'
import type { TaskView } from '../types/tasks.ts'
import type { McpParts } from './callers.ts'
import { askThrough, canBeAsked, hasEnded, inputRequests, taskAnswer, tryAnswer } from './results.ts'

/** Between two signs of life to a client that wants them. */
const PROGRESS_MS = 5000

interface Waited {
  readonly call: Call
  readonly owner: string
  /** True if the task ends with the call, as nobody else knows of it. */
  readonly isHeld: boolean
}

/**
 * Waits for a task in the place of a client that knows of none: until it ends, needs something, or its client is answered as it
 * waits no longer (`patience`). A call that is given up meanwhile takes the task with it, unless somebody has been given its id.
 */
export async function waitFor(parts: McpParts, first: TaskView, waited: Waited): Promise<Answer> {
  const { call, owner, isHeld } = waited
  const { exchange } = call
  const release = isHeld ? parts.foreground.hold(first.id) : () => false
  const giveUp = (why: string): void => {
    if (release()) parts.service().cancel(first.id, owner, why)
  }
  const unlisten = call.onCancel(giveUp)
  const wait = new Wait(parts, first, waited)
  const leave = parts.foreground.onEnd(() => {
    giveUp('the gateway stops')
    wait.giveUp()
  })
  const answered = parts.patience.waits(exchange, () => wait.giveUp())
  const view = await wait.end()
  answered()
  unlisten()
  leave()
  if (exchange.cancelled) return taskAnswer(view)
  if (view.questions.length > 0 && exchange.session.client.era === 'modern' && canBeAsked(exchange)) {
    release()
    return wanted(view, isHeld)
  }
  if (!hasEnded(view)) parts.foreground.free(view.id)
  release()
  return taskAnswer(view)
}

/** Request for input that the client must answer first; its retry brings the task's id along, which nobody else can read. */
function wanted(view: TaskView, isHeld: boolean): Answer {
  const requestState = JSON.stringify({ task: view.id, isHeld })
  return {
    input: Payload.of(
      { resultType: 'input_required', inputRequests: inputRequests(view), requestState },
      'modern',
    ),
  }
}

/** The task that a retry goes on with. */
export function taskOfRetry({ params }: Call): { task: string; isHeld: boolean } | undefined {
  const state = params?.requestState
  if (typeof state !== 'string') return undefined
  try {
    const value = JSON.parse(state) as unknown
    if (!isObject(value) || typeof value.task !== 'string') return undefined
    return { task: value.task, isHeld: value.isHeld === true }
  } catch {
    return undefined
  }
}

class Wait {
  readonly #parts: McpParts
  readonly #waited: Waited
  readonly #progress: (view: TaskView) => void
  readonly #gaveUp = new AbortController()
  /** Questions that the client was asked, and did not answer. */
  readonly #refused = new Set<string>()
  #view: TaskView

  constructor(parts: McpParts, view: TaskView, waited: Waited) {
    this.#parts = parts
    this.#view = view
    this.#waited = waited
    this.#progress = progressOf(waited.call.exchange)
    waited.call.onCancel(() => this.#gaveUp.abort())
  }

  /** Ends the wait: the caller gets the task as it is known now. */
  giveUp(): void {
    const { owner } = this.#waited
    this.#view = this.#parts.service().view(this.#view.id, owner) ?? this.#view
    this.#gaveUp.abort()
  }

  async end(): Promise<TaskView> {
    while (!hasEnded(this.#view) && !this.#gaveUp.signal.aborted) {
      if (this.#view.questions.length > 0 && !(await this.#asked())) break
      await this.#look()
    }
    return this.#view
  }

  async #look(): Promise<void> {
    const { owner } = this.#waited
    const service = this.#parts.service()
    const wait = { ms: PROGRESS_MS, signal: this.#gaveUp.signal }
    const view = await service.wait(this.#view.id, owner, wait)
    this.#view = view ?? this.#view
    if (view !== undefined && !hasEnded(view)) this.#progress(view)
  }

  /** Puts a question to the client; true if it answered. */
  async #asked(): Promise<boolean> {
    const { call, owner } = this.#waited
    const { exchange } = call
    if (exchange.session.client.era === 'modern' || !canBeAsked(exchange)) return false
    const question = this.#view.questions.find(({ id }) => !this.#refused.has(id))
    if (question === undefined) return false
    const service = this.#parts.service()
    const given = await askThrough(exchange, service, this.#view, question, owner)
    if (given !== undefined) tryAnswer(service, this.#view.id, owner, question.id, given)
    this.#view = service.view(this.#view.id, owner) ?? this.#view
    if (this.#view.questions.some(({ id }) => id === question.id)) this.#refused.add(question.id)
    return true
  }
}

/** Tells a client that wants to hear of progress how the task does. */
export function progressOf(exchange: Exchange): (view: TaskView) => void {
  const meta = exchange.params?._meta
  const progressToken = isObject(meta) ? meta.progressToken : undefined
  if (progressToken === undefined) return () => undefined
  let progress = 0
  return ({ state, progress: message, agent }) =>
    exchange.emit({
      method: 'notifications/progress',
      params: {
        progressToken,
        progress: ++progress,
        message: message ?? `${state}${agent === undefined ? '' : ` at ${agent}`}`,
      },
    })
}
