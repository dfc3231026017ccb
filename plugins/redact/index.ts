import type {
  Answer,
  Approval,
  ApprovalRequest,
  Ask,
  Call,
  Dispatch,
  Exchange,
  ExplainStep,
  Metric,
  JsonObject,
  Notification,
  Plugin,
  PluginApi,
} from '../../src/plugin.ts'
import {
  defineErrors,
  runToCompletion,
  GatewayError,
  isObject,
  parseSize,
  Payload,
  refuse,
  RPC,
  runInSlices,
} from '../../src/plugin.ts'
import type { Tally } from './redactor.ts'
import type { Direction, RedactOptions } from './rules.ts'
import { check, Rules } from './rules.ts'

/** Errors of what is taken out of messages. */
const ERRORS = {
  GW_REDACT_ARGUMENTS: {
    text: 'the arguments hold what must not leave here: {found}',
    hint: 'Leave it out of the call; a rule of redact in gateway.yaml says what is looked for.',
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_REDACT_RESULT: {
    text: 'the answer holds what must not be passed on: {found}',
    hint: 'A rule of redact in gateway.yaml says what is looked for; action: replace passes the rest on.',
    http: 403,
    rpc: RPC.internal,
  },
  GW_REDACT_SIZE: {
    text: 'the message is larger than the {bytes} bytes in which redact looks for what must not pass',
    hint: 'Ask for less; or raise redact.maxBytes, or set redact.oversized: pass, in gateway.yaml.',
    http: 413,
    rpc: RPC.invalidParams,
  },
} as const

const redactError = defineErrors(ERRORS)

/** Methods whose answers hold what a server has found or made. */
const ANSWERED = [
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
]
const ASKED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'completion/complete'])
/** Headers that repeat arguments (`x-mcp-header`). */
const MIRRORED = 'mcp-param-'
const TOLD = [
  'notifications/message',
  'notifications/progress',
  'notifications/tasks/status',
  'notifications/tasks',
]
/** A notification is checked without a pause: a longer one counts as too large. */
const MAX_NOTIFICATION_BYTES = 256 * 1024

const RELATED_TASK = '_meta/io.modelcontextprotocol/related-task/taskId'
/** Members of a task that the gateway or a machine reads. */
const TASK_MEMBERS = ['taskId', 'ttl', 'ttlMs', 'pollInterval', 'pollIntervalMs']

/** Paths of members that steer the protocol, by what holds them; elsewhere a member of such a name is checked like any other. */
const KEEPS = {
  arguments: new Set<string>(),
  result: new Set(['ttlMs']),
  error: new Set(['code']),
  input: new Set(['requestState']),
  request: new Set([RELATED_TASK]),
  task: new Set([
    RELATED_TASK,
    ...TASK_MEMBERS.flatMap(name => [name, `task/${name}`, `tasks/${name}`]),
    'requestState',
  ]),
  notification: new Set([RELATED_TASK, 'progressToken', 'progress', 'total']),
} as const

/** JSON text on its way, and what it belongs to. */
interface Message {
  readonly json: string
  readonly kind: keyof typeof KEEPS
  readonly exchange: Exchange | undefined
  /** False if only people are shown it: finds are not counted. */
  readonly isNoted?: boolean
}

type MaybePromise<T> = T | Promise<T>

/** Stands for a detector in figures and the audit if a text was not checked. */
const TOO_LARGE = 'too-large'

/** Takes secrets and personal data out of what clients send and servers answer. */
export const redact: Plugin<RedactOptions> = {
  name: 'redact',
  claims: { section: 'redact' },
  errors: ERRORS,
  check,
  async setup(api) {
    const { options, hooks, slot } = api
    const rules = await Rules.of(options)
    const counts = slot.gateway(() => new Map<string, number>())
    const work = new Work(rules, counts, api)

    if (rules.has('arguments')) hooks.approval.tap({ stage: 'trace' }, request => work.hide(request))
    if (rules.has('arguments'))
      hooks.dispatch.tap(
        { phase: 'other' },
        next => call => (ASKED.has(call.method) ? work.sent(call, next) : next(call)),
      )
    if (rules.has('results')) {
      hooks.response.tap({ stage: 'trace', methods: ANSWERED }, (answer, exchange) =>
        work.answer(answer, exchange),
      )
      hooks.notification.tap(
        { stage: 'transform', methods: TOLD },
        (notification, { direction, exchange }) =>
          direction === 'client' ? work.told(notification, exchange) : undefined,
      )
      hooks.clientRequest.tap({ stage: 'trace' }, (ask, exchange) => work.asked(ask, exchange))
    }
    hooks.explain.tap((steps, { exchange }) => [
      ...steps,
      ...rules.explain(nameOf(exchange), 'arguments').map(text => step('dispatch', text)),
      ...rules.explain(nameOf(exchange), 'results').map(text => step('server', text)),
    ])
    hooks.metrics.tap(figures => [...figures, figureOf(counts)])
  },
}

/** The rules at work on messages, with what they found. */
class Work {
  readonly #rules: Rules
  readonly #counts: Map<string, number>
  readonly #api: PluginApi<RedactOptions>
  readonly #maxBytes: number

  constructor(rules: Rules, counts: Map<string, number>, api: PluginApi<RedactOptions>) {
    this.#rules = rules
    this.#counts = counts
    this.#api = api
    this.#maxBytes = parseSize(api.options.maxBytes)
  }

  /** Hides from people what is redacted; a call that would be refused needs no approval. */
  async hide(request: ApprovalRequest): Promise<Approval | undefined> {
    const given = request.call.params?.arguments
    if (!isObject(given)) return undefined
    const json = JSON.stringify(given)
    const { exchange } = request.call
    try {
      const changed = await this.#change({ json, kind: 'arguments', exchange, isNoted: false })
      request.shownArguments = JSON.parse(changed ?? json)
      return undefined
    } catch (error) {
      if (error instanceof GatewayError) return { granted: false, answer: refusal(error) }
      throw error
    }
  }

  /** Sends a call on without what was found in its arguments, or refuses it. */
  async sent(call: Call, next: Dispatch): Promise<Answer> {
    const { params, exchange } = call
    const member = call.method === 'completion/complete' ? 'argument' : 'arguments'
    const given = params?.[member]
    if (params === undefined || !isObject(given)) return next(call)
    try {
      const changed = await this.#change({ json: JSON.stringify(given), kind: 'arguments', exchange })
      if (changed !== undefined) {
        call.params = { ...params, [member]: JSON.parse(changed) as unknown }
        this.#headers(call)
      }
    } catch (error) {
      if (error instanceof GatewayError) return refusal(error)
      throw error
    }
    return next(call)
  }

  /** Redacts the headers that repeat what arguments hold. */
  #headers({ headers, exchange }: Call): void {
    for (const [name, value] of Object.entries(headers)) {
      if (!name.startsWith(MIRRORED)) continue
      const redactors = this.#rules.for(nameOf(exchange), 'arguments')
      headers[name] = redactors.reduce(
        (text, redactor) => runToCompletion(redactor.text(text, new Map())),
        value,
      )
    }
  }

  /** The answer without what was found in it, be it a result, an error, a question or a task. */
  answer(answer: Answer, exchange: Exchange): MaybePromise<Answer | undefined> {
    if ('error' in answer)
      return mapped(
        this.#change({ json: JSON.stringify(answer.error), kind: 'error', exchange }),
        changed => ({ ...answer, error: JSON.parse(changed) as (typeof answer)['error'] }),
      )
    const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
    const kind = 'input' in answer ? 'input' : 'task' in answer || isOfTask(exchange) ? 'task' : 'result'
    return mapped(this.#change({ json: payload.bytes().toString('utf8'), kind, exchange }), changed => {
      const made = Payload.fromBytes(Buffer.from(changed), payload.era)
      if ('result' in answer) return { result: made }
      return 'input' in answer ? { input: made } : { task: made }
    })
  }

  /** Takes what is found out of a server's request to a client; refused, it reaches no client. */
  async asked(ask: Ask, exchange: Exchange): Promise<Answer | undefined> {
    if (ask.params === undefined) return undefined
    try {
      const json = JSON.stringify(ask.params)
      const changed = await this.#change({ json, kind: 'request', exchange })
      if (changed !== undefined) ask.params = JSON.parse(changed) as JsonObject
      return undefined
    } catch (error) {
      if (error instanceof GatewayError) return refusal(error)
      throw error
    }
  }

  /** The notification without what was found in it; dropped where a rule refuses. */
  told({ method, params }: Notification, exchange: Exchange | undefined): Notification | 'drop' | undefined {
    if (params === undefined) return undefined
    try {
      const kind = method.startsWith('notifications/tasks') ? 'task' : 'notification'
      const message: Message = { json: JSON.stringify(params), kind, exchange }
      const changed = this.#isPassed(message, Math.min(this.#maxBytes, MAX_NOTIFICATION_BYTES))
        ? undefined
        : runToCompletion(this.#changed(message))
      return changed === undefined ? undefined : { method, params: JSON.parse(changed) as JsonObject }
    } catch (error) {
      if (error instanceof GatewayError) return 'drop'
      throw error
    }
  }

  /** JSON text without what was found in it; undefined where nothing was. @throws GatewayError where a rule refuses. */
  #change(message: Message): MaybePromise<string | undefined> {
    return this.#isPassed(message, this.#maxBytes) ? undefined : runInSlices(this.#changed(message))
  }

  /** True if the text is not checked: no rule is about it, or it is larger than is checked. @throws GatewayError if it is refused then. */
  #isPassed({ json, kind, exchange }: Message, maxBytes: number): boolean {
    const direction = directionOf(kind)
    if (this.#rules.for(nameOf(exchange), direction).length === 0) return true
    if (json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes) return false
    const { oversized } = this.#api.options
    this.#note(new Map([[TOO_LARGE, 1]]), oversized, direction, exchange)
    if (oversized === 'refuse') throw redactError('GW_REDACT_SIZE', { bytes: maxBytes })
    return true
  }

  *#changed({ json, kind, exchange, isNoted }: Message): Generator<void, string | undefined> {
    const direction = directionOf(kind)
    let changed = json
    for (const redactor of this.#rules.for(nameOf(exchange), direction)) {
      const tally: Tally = new Map()
      const next = yield* redactor.json(changed, tally, KEEPS[kind])
      if (tally.size === 0) continue
      if (isNoted !== false) this.#note(tally, redactor.action, direction, exchange)
      const code = direction === 'arguments' ? 'GW_REDACT_ARGUMENTS' : 'GW_REDACT_RESULT'
      if (redactor.action === 'refuse') throw redactError(code, { found: [...tally.keys()].join(', ') })
      changed = next
    }
    return changed === json ? undefined : changed
  }

  #note(tally: Tally, action: string, direction: Direction, exchange: Exchange | undefined): void {
    for (const [detector, count] of tally) {
      const key = JSON.stringify([detector, direction, action])
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
    }
    const fields = { direction, ...Object.fromEntries(tally) }
    this.#api.record({ kind: 'redaction', name: nameOf(exchange) ?? '', outcome: action, exchange, fields })
  }
}

function directionOf(kind: Message['kind']): Direction {
  return kind === 'arguments' ? 'arguments' : 'results'
}

function isOfTask({ method }: Exchange): boolean {
  return method.startsWith('tasks/')
}

function mapped<T, U>(value: MaybePromise<T | undefined>, map: (value: T) => U): MaybePromise<U | undefined> {
  if (value instanceof Promise)
    return value.then(settled => (settled === undefined ? undefined : map(settled)))
  return value === undefined ? undefined : map(value)
}

/** The tool, prompt or resource of a request, as its client calls it. */
function nameOf(exchange: Exchange | undefined): string | undefined {
  const { name, uri, ref } = exchange?.params ?? {}
  const own = name ?? uri ?? (isObject(ref) ? (ref.name ?? ref.uri) : undefined)
  return typeof own === 'string' ? own : undefined
}

function refusal({ message, code, entry }: GatewayError): Answer {
  const refused = refuse(entry.rpc ?? RPC.invalidParams, message, { code }, { status: entry.http ?? 400 })
  return 'error' in refused ? { ...refused, refusedBy: 'redact' } : refused
}

function step(at: ExplainStep['at'], text: string): ExplainStep {
  return { by: 'redact', at, does: 'depends', text }
}

function figureOf(counts: ReadonlyMap<string, number>): Metric {
  return {
    name: 'tapgate_redactions',
    type: 'counter',
    help: 'Finds in messages that were replaced, masked, or refused.',
    samples: [...counts].map(([key, value]) => {
      const [detector = '', direction = '', action = ''] = JSON.parse(key) as string[]
      return { suffix: '_total', labels: { detector, direction, action }, value }
    }),
  }
}
