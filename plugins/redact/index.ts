import {
  type Answer,
  type Approval,
  type ApprovalRequest,
  type Call,
  type Dispatch,
  type Exchange,
  type ExplainStep,
  type Figure,
  GatewayError,
  isObject,
  type JsonObject,
  type Notification,
  Payload,
  type Plugin,
  type PluginApi,
  refuse,
  RPC,
} from '../../src/plugin.ts'
import { check } from './check.ts'
import { ERRORS, redactError } from './errors.ts'
import type { Tally } from './redactor.ts'
import { type Direction, type RedactOptions, Rules } from './rules.ts'

/** Methods whose answers hold what a server has found or made. */
const ANSWERED = [
  'tools/call',
  'prompts/get',
  'resources/read',
  'completion/complete',
  'tasks/get',
  'tasks/result',
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
    }
    hooks.explain.tap((steps, { exchange }) => [
      ...steps,
      ...rules.explain(nameOf(exchange), 'arguments').map(text => step('dispatch', text)),
      ...rules.explain(nameOf(exchange), 'results').map(text => step('server', text)),
    ])
    hooks.figures.tap(figures => [...figures, figureOf(counts)])
  },
}

/** The rules at work on messages, with what they found. */
class Work {
  readonly #rules: Rules
  readonly #counts: Map<string, number>
  readonly #api: PluginApi<RedactOptions>

  constructor(rules: Rules, counts: Map<string, number>, api: PluginApi<RedactOptions>) {
    this.#rules = rules
    this.#counts = counts
    this.#api = api
  }

  /** Sends a call on without what was found in its arguments, or refuses it. */
  async sent(call: Call, next: Dispatch): Promise<Answer> {
    const { params, exchange } = call
    const member = call.method === 'completion/complete' ? 'argument' : 'arguments'
    const given = params?.[member]
    if (params === undefined || !isObject(given)) return next(call)
    try {
      const changed = this.#changed(JSON.stringify(given), exchange, 'arguments', 'GW_REDACT_ARGUMENTS')
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

  /** Hides from people what is redacted; a call that would be refused needs no approval. */
  hide(request: ApprovalRequest): Approval | undefined {
    const given = request.call.params?.arguments
    if (!isObject(given)) return undefined
    let shown = JSON.stringify(given)
    for (const redactor of this.#rules.for(nameOf(request.call.exchange), 'arguments')) {
      const tally: Tally = new Map()
      const next = redactor.json(shown, tally)
      if (tally.size === 0) continue
      if (redactor.action === 'refuse') {
        const found = [...tally.keys()].join(', ')
        return { granted: false, answer: refusal(redactError('GW_REDACT_ARGUMENTS', { found })) }
      }
      shown = next
    }
    request.shown = JSON.parse(shown)
    return undefined
  }

  /** Redacts the headers that repeat what arguments hold. */
  #headers({ headers, exchange }: Call): void {
    for (const [name, value] of Object.entries(headers)) {
      if (!name.startsWith(MIRRORED)) continue
      const redactors = this.#rules.for(nameOf(exchange), 'arguments')
      headers[name] = redactors.reduce((text, redactor) => redactor.text(text, new Map()), value)
    }
  }

  /** The answer without what was found in it, be it a result, an error, a question or a task. */
  answer(answer: Answer, exchange: Exchange): Answer | undefined {
    if ('error' in answer) {
      const changed = this.#result(JSON.stringify(answer.error), exchange)
      return changed === undefined
        ? undefined
        : { ...answer, error: JSON.parse(changed) as (typeof answer)['error'] }
    }
    const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
    const changed = this.#result(payload.bytes().toString('utf8'), exchange)
    if (changed === undefined) return undefined
    const made = Payload.raw(Buffer.from(changed), payload.era)
    if ('result' in answer) return { result: made }
    return 'input' in answer ? { input: made } : { task: made }
  }

  /** The notification without what was found in it; dropped where a rule refuses. */
  told(notification: Notification, exchange: Exchange | undefined): Notification | 'drop' | undefined {
    const { params } = notification
    if (params === undefined) return undefined
    try {
      const changed = this.#result(JSON.stringify(params), exchange)
      return changed === undefined
        ? undefined
        : { ...notification, params: JSON.parse(changed) as JsonObject }
    } catch (error) {
      if (error instanceof GatewayError) return 'drop'
      throw error
    }
  }

  #result(json: string, exchange: Exchange | undefined): string | undefined {
    return this.#changed(json, exchange, 'results', 'GW_REDACT_RESULT')
  }

  /** JSON text without what was found in it; undefined where nothing was. @throws GatewayError where a rule refuses. */
  #changed(
    json: string,
    exchange: Exchange | undefined,
    direction: Direction,
    code: keyof typeof ERRORS,
  ): string | undefined {
    let changed = json
    for (const redactor of this.#rules.for(nameOf(exchange), direction)) {
      const tally: Tally = new Map()
      const next = redactor.json(changed, tally)
      if (tally.size === 0) continue
      this.#note(tally, redactor.action, direction, exchange)
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

function figureOf(counts: ReadonlyMap<string, number>): Figure {
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
