import type {
  Answer,
  Approval,
  ApprovalRequest,
  Ask,
  Call,
  Dispatch,
  Exchange,
  Metric,
  JsonObject,
  Notification,
  Plugin,
  PluginApi,
} from '../../src/plugin.ts'
import { defineErrors, GatewayError, isObject, parseSize, Payload, refuse, RPC, runInSlices } from '../../src/plugin.ts'
import type { FindingCounts } from './redactor.ts'
import { runToCompletion } from './redactor.ts'
import type { Direction, RedactOptions } from './rules.ts'
import { checkRedaction, RedactionRules } from './rules.ts'

const ERRORS = {
  GW_REDACT_ARGUMENTS: {
    text: 'the arguments contain sensitive data: {found}',
    hint: 'Remove it from the call; the redact rules in gateway.yaml refuse it.',
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_REDACT_RESULT: {
    text: 'the answer contains sensitive data: {found}',
    hint: 'The redact rules in gateway.yaml refuse it; with action: replace, only the sensitive data is replaced.',
    http: 403,
    rpc: RPC.internal,
  },
  GW_REDACT_SIZE: {
    text: 'the message exceeds the redaction limit of {bytes} bytes',
    hint: 'Request less data, raise redact.maxBytes, or set redact.oversized: pass in gateway.yaml.',
    http: 413,
    rpc: RPC.invalidParams,
  },
} as const

const redactError = defineErrors(ERRORS)

/** Methods with answers from a server. */
const RESULT_METHODS = [
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
]
const ARGUMENT_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'completion/complete'])
/** Prefix for headers that repeat arguments (`x-mcp-header`). */
const PARAM_HEADER_PREFIX = 'mcp-param-'
const NOTIFICATION_METHODS = [
  'notifications/message',
  'notifications/progress',
  'notifications/tasks/status',
  'notifications/tasks',
]
/** Larger notifications count as oversized, because they are checked synchronously. */
const MAX_NOTIFICATION_BYTES = 256 * 1024

const RELATED_TASK = '_meta/io.modelcontextprotocol/related-task/taskId'
/** Task members that programs read. */
const TASK_MEMBERS = ['taskId', 'ttl', 'ttlMs', 'pollInterval', 'pollIntervalMs']

/** Protocol member paths that are never redacted, by message kind. */
const EXEMPT_PATHS = {
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

/** JSON text to redact, with its kind and exchange. */
interface RedactionInput {
  readonly json: string
  readonly kind: keyof typeof EXEMPT_PATHS
  readonly exchange: Exchange | undefined
  /** False for text shown to people only: findings are not counted. */
  readonly isCounted?: boolean
}

type MaybePromise<T> = T | Promise<T>

/** Detector name in metrics and audit records for unchecked text. */
const TOO_LARGE = 'too-large'

/** Removes secrets and personal data from requests and answers. */
export const redact: Plugin<RedactOptions> = {
  name: 'redact',
  claims: { section: 'redact' },
  errors: ERRORS,
  check: checkRedaction,
  async setup(api) {
    const { options, hooks, slot } = api
    const rules = await RedactionRules.create(options)
    const counts = slot.gateway(() => new Map<string, number>())
    const work = new MessageRedactor(rules, counts, api)

    if (rules.hasDirection('arguments')) hooks.approval.tap({ stage: 'trace' }, request => work.redactApproval(request))
    if (rules.hasDirection('arguments'))
      hooks.dispatch.tap(next => call => (ARGUMENT_METHODS.has(call.method) ? work.redactCall(call, next) : next(call)))
    if (rules.hasDirection('results')) {
      hooks.response.tap({ stage: 'trace', methods: RESULT_METHODS }, (answer, exchange) =>
        work.redactAnswer(answer, exchange),
      )
      hooks.notification.tap(
        { stage: 'transform', methods: NOTIFICATION_METHODS },
        (notification, { direction, exchange }) =>
          direction === 'client' ? work.redactNotification(notification, exchange) : undefined,
      )
      hooks.clientRequest.tap({ stage: 'trace' }, (ask, exchange) => work.redactClientRequest(ask, exchange))
    }
    hooks.metrics.tap(figures => [...figures, toFigure(counts)])
  },
}

/** Applies the rules to messages and counts findings. */
class MessageRedactor {
  readonly #rules: RedactionRules
  readonly #counts: Map<string, number>
  readonly #api: PluginApi<RedactOptions>
  readonly #maxBytes: number

  constructor(rules: RedactionRules, counts: Map<string, number>, api: PluginApi<RedactOptions>) {
    this.#rules = rules
    this.#counts = counts
    this.#api = api
    this.#maxBytes = parseSize(api.options.maxBytes)
  }

  /** Redacts the arguments shown to approvers; refuses a call that a rule would refuse. */
  async redactApproval(request: ApprovalRequest): Promise<Approval | undefined> {
    const args = request.call.params?.arguments
    if (!isObject(args)) return undefined
    const json = JSON.stringify(args)
    const { exchange } = request.call
    try {
      const changed = await this.#redact({ json, kind: 'arguments', exchange, isCounted: false })
      request.shownArguments = JSON.parse(changed ?? json)
      return undefined
    } catch (error) {
      if (error instanceof GatewayError) return { granted: false, answer: toRefusal(error) }
      throw error
    }
  }

  /** Redacts the arguments, or refuses the call. */
  async redactCall(call: Call, next: Dispatch): Promise<Answer> {
    const { params, exchange } = call
    const member = call.method === 'completion/complete' ? 'argument' : 'arguments'
    const input = params?.[member]
    if (params === undefined || !isObject(input)) return next(call)
    try {
      const changed = await this.#redact({ json: JSON.stringify(input), kind: 'arguments', exchange })
      if (changed !== undefined) {
        call.params = { ...params, [member]: JSON.parse(changed) as unknown }
        this.#redactHeaders(call)
      }
    } catch (error) {
      if (error instanceof GatewayError) return toRefusal(error)
      throw error
    }
    return next(call)
  }

  /** Redacts headers that repeat arguments. */
  #redactHeaders({ headers, exchange }: Call): void {
    for (const [name, value] of Object.entries(headers)) {
      if (!name.startsWith(PARAM_HEADER_PREFIX)) continue
      const redactors = this.#rules.redactorsFor(getRequestName(exchange), 'arguments')
      headers[name] = redactors.reduce((text, redactor) => runToCompletion(redactor.redactText(text, new Map())), value)
    }
  }

  /** Redacts a result, error, input request or task. */
  redactAnswer(answer: Answer, exchange: Exchange): MaybePromise<Answer | undefined> {
    if ('error' in answer)
      return mapMaybe(this.#redact({ json: JSON.stringify(answer.error), kind: 'error', exchange }), changed => ({
        ...answer,
        error: JSON.parse(changed) as (typeof answer)['error'],
      }))
    const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
    const kind = 'input' in answer ? 'input' : 'task' in answer || isTaskMethod(exchange) ? 'task' : 'result'
    return mapMaybe(this.#redact({ json: payload.bytes().toString('utf8'), kind, exchange }), changed => {
      const made = Payload.fromBytes(Buffer.from(changed), payload.era)
      if ('result' in answer) return { result: made }
      return 'input' in answer ? { input: made } : { task: made }
    })
  }

  /** Redacts a client request; a refused one does not reach the client. */
  async redactClientRequest(ask: Ask, exchange: Exchange): Promise<Answer | undefined> {
    if (ask.params === undefined) return undefined
    try {
      const json = JSON.stringify(ask.params)
      const changed = await this.#redact({ json, kind: 'request', exchange })
      if (changed !== undefined) ask.params = JSON.parse(changed) as JsonObject
      return undefined
    } catch (error) {
      if (error instanceof GatewayError) return toRefusal(error)
      throw error
    }
  }

  /** Redacts a notification; drops it if a rule refuses it. */
  redactNotification(
    { method, params }: Notification,
    exchange: Exchange | undefined,
  ): Notification | 'drop' | undefined {
    if (params === undefined) return undefined
    try {
      const kind = method.startsWith('notifications/tasks') ? 'task' : 'notification'
      const message: RedactionInput = { json: JSON.stringify(params), kind, exchange }
      const changed = this.#isExempt(message, Math.min(this.#maxBytes, MAX_NOTIFICATION_BYTES))
        ? undefined
        : runToCompletion(this.#redactSteps(message))
      return changed === undefined ? undefined : { method, params: JSON.parse(changed) as JsonObject }
    } catch (error) {
      if (error instanceof GatewayError) return 'drop'
      throw error
    }
  }

  /**
   * Returns the redacted JSON, or undefined if nothing was found. @throws GatewayError if a rule refuses the message
   */
  #redact(message: RedactionInput): MaybePromise<string | undefined> {
    return this.#isExempt(message, this.#maxBytes) ? undefined : runInSlices(this.#redactSteps(message))
  }

  /**
   * True if no rule applies, or the text is oversized and may pass. @throws GatewayError if oversized text is refused
   */
  #isExempt({ json, kind, exchange }: RedactionInput, maxBytes: number): boolean {
    const direction = getDirection(kind)
    if (this.#rules.redactorsFor(getRequestName(exchange), direction).length === 0) return true
    if (json.length * 3 <= maxBytes || Buffer.byteLength(json) <= maxBytes) return false
    const { oversized } = this.#api.options
    this.#countFindings(new Map([[TOO_LARGE, 1]]), oversized, direction, exchange)
    if (oversized === 'refuse') throw redactError('GW_REDACT_SIZE', { bytes: maxBytes })
    return true
  }

  *#redactSteps({ json, kind, exchange, isCounted }: RedactionInput): Generator<void, string | undefined> {
    const direction = getDirection(kind)
    let changed = json
    for (const redactor of this.#rules.redactorsFor(getRequestName(exchange), direction)) {
      const tally: FindingCounts = new Map()
      const next = yield* redactor.redactJson(changed, tally, EXEMPT_PATHS[kind])
      if (tally.size === 0) continue
      if (isCounted !== false) this.#countFindings(tally, redactor.action, direction, exchange)
      const code = direction === 'arguments' ? 'GW_REDACT_ARGUMENTS' : 'GW_REDACT_RESULT'
      if (redactor.action === 'refuse') throw redactError(code, { found: [...tally.keys()].join(', ') })
      changed = next
    }
    return changed === json ? undefined : changed
  }

  #countFindings(tally: FindingCounts, action: string, direction: Direction, exchange: Exchange | undefined): void {
    for (const [detector, count] of tally) {
      const key = JSON.stringify([detector, direction, action])
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
    }
    const fields = { direction, ...Object.fromEntries(tally) }
    this.#api.record({
      kind: 'redaction',
      name: getRequestName(exchange) ?? '',
      outcome: action,
      exchange,
      fields,
    })
  }
}

function getDirection(kind: RedactionInput['kind']): Direction {
  return kind === 'arguments' ? 'arguments' : 'results'
}

function isTaskMethod({ method }: Exchange): boolean {
  return method.startsWith('tasks/')
}

function mapMaybe<T, U>(value: MaybePromise<T | undefined>, map: (value: T) => U): MaybePromise<U | undefined> {
  if (value instanceof Promise) return value.then(settled => (settled === undefined ? undefined : map(settled)))
  return value === undefined ? undefined : map(value)
}

/** Returns the tool, prompt or resource name that the client used. */
function getRequestName(exchange: Exchange | undefined): string | undefined {
  const { name, uri, ref } = exchange?.params ?? {}
  const own = name ?? uri ?? (isObject(ref) ? (ref.name ?? ref.uri) : undefined)
  return typeof own === 'string' ? own : undefined
}

function toRefusal({ message, code, entry }: GatewayError): Answer {
  const refused = refuse(entry.rpc ?? RPC.invalidParams, message, { code }, { status: entry.http ?? 400 })
  return 'error' in refused ? { ...refused, refusedBy: 'redact' } : refused
}

function toFigure(counts: ReadonlyMap<string, number>): Metric {
  return {
    name: 'tapgate_redactions',
    type: 'counter',
    help: 'Redaction findings in messages, by action.',
    samples: [...counts].map(([key, value]) => {
      const [detector = '', direction = '', action = ''] = JSON.parse(key) as string[]
      return { suffix: '_total', labels: { detector, direction, action }, value }
    }),
  }
}
