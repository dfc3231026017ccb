import {
  argumentsShape,
  type Clock,
  type Config,
  type Exchange,
  globs,
  hasFailed,
  isObject,
  outcomeOf,
  type PluginHooks,
  type Slot,
} from '../../../src/plugin.ts'
import type { CallDetail, Timing } from '../types.ts'
import type { CallFeed } from './call-feed.ts'
import { type CallLog, isFailed } from './call-log.ts'
import type { Clients } from './clients.ts'
import type { FigureRing } from './figures.ts'

type Options = NonNullable<Config['ui']>

/** Requests that are kept as calls. */
const METHODS = ['tools/call', 'prompts/get', 'resources/read']

/** Longer texts are cut: any peer may write them. */
const LONGEST = 256
const LONGEST_VALUES = 4096
const MICROS = 1000

/** Moments of an exchange on its way, on the clock of exchanges. */
export class Moments {
  leftAt: number | undefined = undefined
  backAt: number | undefined = undefined
  serverMs = 0
  tries = 0
}

/** Parts that a recorder writes to. */
export interface Records {
  readonly calls: CallLog
  readonly figures: FigureRing
  readonly clients: Clients
  readonly feed: CallFeed
}

/** Keeps the calls of late, with what is known of their way. */
export function recordCalls(
  hooks: PluginHooks,
  records: Records,
  around: { options: Options; clock: Clock; moments: Slot<Exchange, Moments> },
): void {
  const { clock, moments } = around
  const keepsValues = globs(around.options.values ?? [])
  // The outermost of all that is around a server, and the innermost.
  hooks.dispatch.tap({ stage: 'trace' }, next => call => {
    const own = moments.get(call.exchange)
    own.leftAt ??= clock.now()
    return next(call).finally(() => (own.backAt = clock.now()))
  })
  hooks.dispatch.tap({ stage: 'transform' }, next => call => {
    const own = moments.get(call.exchange)
    const began = clock.now()
    own.tries++
    return next(call).finally(() => (own.serverMs += clock.now() - began))
  })
  hooks.settled.tap({ methods: METHODS }, exchange => {
    const own = moments.get(exchange)
    const call = recordOf(exchange, own, clock.now(), keepsValues(nameIn(exchange)))
    const { at, ms, outcome, bytesIn, bytesOut } = call
    const isCached = outcome === 'ok' && own.leftAt !== undefined && own.tries === 0
    records.figures.add({ at, ms, isFailed: isFailed(outcome), isCached, bytes: bytesIn + bytesOut })
    records.clients.called(exchange.session)
    records.feed.add(records.calls.add(call))
  })
}

function recordOf(exchange: Exchange, own: Moments, now: number, isKept: boolean): Omit<CallDetail, 'id'> {
  const { method, principal, session, route, bytes, decidedBy, startedAt } = exchange
  const args = isKept ? exchange.params?.arguments : undefined
  const timing = timingOf(own, startedAt, now)
  return {
    at: Date.now(),
    ms: rounded(now - startedAt),
    method,
    name: cut(nameIn(exchange)),
    upstream: route?.to === 'one' ? route.upstream : '',
    subject: cut(principal.subject),
    issuer: principal.issuer,
    client: cut(session.client.info.name),
    era: session.client.era,
    via: exchange.via,
    profile: session.profile ?? '',
    outcome: outcomeOf(exchange),
    by: decidedBy ?? '',
    bytesIn: bytes,
    ...answerIn(exchange, isKept),
    shape: argumentsShape(exchange.params) ?? '',
    ...(isObject(args) ? { arguments: cut(JSON.stringify(args), LONGEST_VALUES) } : {}),
    ...(timing === undefined ? {} : { timing }),
  }
}

/** Of a URI without what may be a key or a password in it. */
function nameIn({ params }: Exchange): string {
  const { name, uri } = params ?? {}
  if (typeof name === 'string') return name
  if (typeof uri !== 'string') return ''
  return uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
}

function answerIn(
  { answer }: Exchange,
  isKept: boolean,
): Pick<CallDetail, 'code' | 'bytesOut' | 'result' | 'error'> {
  if (answer === undefined) return { code: 0, bytesOut: 0 }
  if ('error' in answer)
    return { code: answer.error.code, bytesOut: 0, error: cut(answer.error.message, LONGEST_VALUES) }
  const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
  const bytes = payload.bytes()
  const size = { code: 0, bytesOut: bytes.length }
  if (!isKept)
    return 'result' in answer && hasFailed(payload)
      ? { ...size, error: 'the tool said that it failed' }
      : size
  return { ...size, result: cut(bytes.subarray(0, LONGEST_VALUES + 4).toString(), LONGEST_VALUES) }
}

function timingOf(own: Moments, startedAt: number, now: number): Timing | undefined {
  const { leftAt, backAt, serverMs, tries } = own
  if (leftAt === undefined || backAt === undefined) return undefined
  return {
    before: rounded(leftAt - startedAt),
    around: rounded(Math.max(backAt - leftAt - serverMs, 0)),
    server: rounded(serverMs),
    after: rounded(now - backAt),
    tries,
  }
}

function rounded(ms: number): number {
  return Math.round(ms * MICROS) / MICROS
}

function cut(text: string, longest = LONGEST): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
