import {
  type Answer,
  type Call,
  type Exchange,
  GatewayError,
  isObject,
  type JsonObject,
  Payload,
} from '../../../src/plugin.ts'
import type { Caller, TaskRequest, TaskView } from '../types.ts'
import type { McpParts } from './callers.ts'
import {
  askThrough,
  canBeAsked,
  failed,
  giveAnswers,
  hasEnded,
  inputRequests,
  taskAnswer,
  taskState,
  tryAnswer,
  unknownTask,
} from './results.ts'

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

const CHECKS = {
  string: (value: unknown, { minLength = 0, maxLength = Infinity }: JsonObject) => {
    const fits =
      typeof value === 'string' &&
      value.length >= Number(minLength) &&
      value.length <= Number(maxLength) &&
      !value.includes('\0')
    return fits
      ? undefined
      : `a string of ${Number(minLength)} to ${Number(maxLength)} characters, without NUL`
  },
  integer: (value: unknown, { minimum = 0, maximum = Infinity }: JsonObject) => {
    const fits =
      Number.isInteger(value) && Number(value) >= Number(minimum) && Number(value) <= Number(maximum)
    return fits ? undefined : `a whole number from ${Number(minimum)} to ${Number(maximum)}`
  },
  boolean: (value: unknown) => (typeof value === 'boolean' ? undefined : 'true or false'),
  object: (value: unknown) => (isObject(value) ? undefined : 'an object'),
  array: (value: unknown, { items, maxItems = Infinity }: JsonObject) => {
    if (!Array.isArray(value) || value.length > Number(maxItems))
      return `a list of at most ${Number(maxItems)}`
    const wrong = (value as unknown[]).map(item => wrongIn(item, items as JsonObject)).find(Boolean)
    return wrong === undefined ? undefined : `a list, each of it ${wrong}`
  },
} as const

/** `delegate_task`: a task on disk first, then whatever this client can be given of it. */
export async function delegateTask(call: Call, given: JsonObject, parts: McpParts): Promise<Answer> {
  const retried = taskOfRetry(call)
  if (retried !== undefined) return goOn(call, retried, parts)
  return begin(call, requestOf(given), parts)
}

/** A new task, and the wait for it. @throws GatewayError only what is not the caller's to mend */
export async function begin(call: Call, request: TaskRequest, parts: McpParts): Promise<Answer> {
  const caller = parts.callers.callerOf(call.exchange)
  const isKept = request.background || call.mayBeTask === true
  if (request.continues !== undefined && !parts.callers.mayTouch(request.continues, caller))
    return unknownTask()
  try {
    const view = await parts.service().delegate({ ...apart(request, caller), background: isKept }, caller)
    parts.begun(view.id, caller)
    if (call.mayBeTask === true)
      return { task: Payload.of({ ...taskState(view), resultType: 'task' }, 'modern') }
    if (request.background) return taskAnswer(view)
    if (call.exchange.cancelled) parts.service().cancel(view.id, caller.owner, 'the call was given up')
    return await waitFor(parts, view, { call, owner: caller.owner, isHeld: true })
  } catch (error) {
    if (error instanceof GatewayError) return failed(error.message, error.fields.retryAfterMs)
    throw error
  }
}

/** An agent's keys are its own: the same key of its owner is another task. */
function apart(request: TaskRequest, { parent }: Caller): TaskRequest {
  const { idempotencyKey } = request
  if (parent === undefined || idempotencyKey === undefined) return request
  return { ...request, idempotencyKey: `${parent.task}:${idempotencyKey}` }
}

/** The client comes back with what the task needed. */
export async function goOn(
  call: Call,
  { task, isHeld }: { readonly task: string; readonly isHeld: boolean },
  parts: McpParts,
): Promise<Answer> {
  const caller = parts.callers.callerOf(call.exchange)
  const before = parts.callers.find(parts.service(), task, caller)
  if (before === undefined) return unknownTask()
  const { owner } = caller
  giveAnswers(parts.service(), before, owner, call.params?.inputResponses)
  const view = parts.service().view(task, owner) ?? before
  return waitFor(parts, view, { call, owner, isHeld })
}

/** Arguments of `delegate_task`, checked against its schema already. */
export function requestOf(given: JsonObject): TaskRequest {
  const text = (key: string): string | undefined => given[key] as string | undefined
  const texts = (key: string): readonly string[] => (given[key] as readonly string[] | undefined) ?? []
  return {
    prompt: String(given.prompt),
    agent: text('agent'),
    taskType: text('task_type'),
    capabilities: texts('capabilities'),
    cwd: text('cwd'),
    files: texts('files'),
    continues: text('continues'),
    mode: text('mode'),
    model: text('model'),
    timeoutMs: typeof given.timeout_s === 'number' ? given.timeout_s * 1000 : undefined,
    isolation: given.isolation as TaskRequest['isolation'],
    idempotencyKey: text('idempotency_key'),
    background: given.background === true,
  }
}

/** The next prompt for the session of a task. */
export function nextRequest(task: string, prompt: string, background: boolean): TaskRequest {
  return { ...requestOf({ prompt }), continues: task, background }
}

/** Why arguments do not fit their schema, for whoever sent them; undefined when they do. */
export function problemWith(given: JsonObject, schema: JsonObject): string | undefined {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : []
  const missing = required.find(key => given[String(key)] === undefined)
  if (missing !== undefined) return `"${String(missing)}" is missing`
  for (const [key, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (!isObject(property))
      return `"${key.slice(0, 64)}" is not known; known: ${Object.keys(properties).join(', ') || 'nothing'}`
    const wrong = value === undefined ? undefined : wrongIn(value, property)
    if (wrong !== undefined) return `"${key}" must be ${wrong}`
  }
  return undefined
}

/** Says what a value must be, and is not. */
function wrongIn(value: unknown, schema: JsonObject): string | undefined {
  if (Array.isArray(schema.enum)) {
    const choices = schema.enum as unknown[]
    return choices.includes(value) ? undefined : `one of ${choices.join(', ')}`
  }
  return CHECKS[schema.type as keyof typeof CHECKS](value, schema)
}
