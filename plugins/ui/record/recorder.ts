import {
  argumentsShape,
  type Clock,
  type Config,
  type Exchange,
  globs,
  hasFailed,
  isObject,
  outcomeOf,
  type PhaseTimes,
  type PluginHooks,
} from '../../../src/plugin.ts'
import type { CallDetail, Timing } from '../types.ts'
import type { Clients } from './clients.ts'
import type { Recorded } from './ledger.ts'

type Options = NonNullable<Config['ui']>

/** Requests that are kept as calls. */
const METHODS = ['tools/call', 'prompts/get', 'resources/read']

/** Longer texts are cut: any peer may write them. */
const LONGEST = 256
const LONGEST_VALUES = 4096
const MICROS = 1000

/** Parts that a recorder writes to. */
interface Written {
  readonly ledger: { add(call: Recorded): void }
  readonly clients: Clients
}

/** Keeps the calls of late, with what is known of their way. */
export function recordCalls(
  hooks: PluginHooks,
  { ledger, clients }: Written,
  around: { options: Options; clock: Clock },
): void {
  const { clock } = around
  const keepsValues = globs(around.options.values ?? [])
  hooks.settled.tap({ methods: METHODS, timed: true }, exchange => {
    const { times } = exchange
    clients.called(exchange.session)
    ledger.add(recordOf(exchange, times, ageOf(exchange, times, clock), keepsValues(nameIn(exchange))))
  })
}

function recordOf(exchange: Exchange, times: PhaseTimes | undefined, ms: number, isKept: boolean): Recorded {
  const { method, principal, session, route, bytes, decidedBy } = exchange
  const args = isKept ? exchange.params?.arguments : undefined
  return {
    at: Date.now(),
    ms: rounded(ms),
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
    ...timingIn(times),
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

/** The sum of the times where there are any, so that the parts are the whole. */
function ageOf({ startedAt }: Exchange, times: PhaseTimes | undefined, clock: Clock): number {
  if (times === undefined) return clock.now() - startedAt
  const { tries: _tries, isDispatched: _is, ...phases } = times
  return Object.values(phases).reduce((total, ms) => total + ms, 0)
}

/** None of a call that has not left for a server. */
function timingIn(times: PhaseTimes | undefined): { readonly timing?: Timing } {
  return times?.isDispatched === true ? { timing: timingOf(times) } : {}
}

function timingOf(times: PhaseTimes): Timing {
  const { before, policy, cache, queue, upstream, client, other, after, tries } = times
  return {
    before: rounded(before),
    policy: rounded(policy),
    cache: rounded(cache),
    queue: rounded(queue),
    server: rounded(upstream),
    client: rounded(client),
    other: rounded(other),
    after: rounded(after),
    tries,
  }
}

function rounded(ms: number): number {
  return Math.round(ms * MICROS) / MICROS
}

function cut(text: string, longest = LONGEST): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
