import { createHash } from 'node:crypto'
import type { Exchange, JsonObject, PhaseTimes, Session } from '../../src/plugin.ts'
import { describeArguments, BoundedMap, compileGlobs, getOutcome, principalKey } from '../../src/plugin.ts'

/** Longest stored text; peers control these values. */
const MAX_LENGTH = 256
const MAX_VALUES_LENGTH = 8192
const HASH_LENGTH = 16
const MAX_TEXTS = 4096
const MICROS = 1000

/** A recorded call, without its row id. */
export interface CallRecord {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ms: number
  readonly method: string
  /** Tool name or URI as the client sent it; empty if there is none. */
  readonly name: string
  readonly upstream: string
  /** Issuer, client and subject as JSON. */
  readonly principal: string
  readonly scopes: string
  readonly client: string
  readonly era: string
  /** Session id hash; empty for modern clients, which have one session per request. */
  readonly session: string
  readonly profile: string
  readonly outcome: string
  /** JSON-RPC error code; 0 if the call succeeded. */
  readonly code: number
  /** Plugin that refused or answered the call. */
  readonly by: string
  readonly bytesIn: number
  readonly bytesOut: number
  readonly shape: string
  readonly args: string
  /** Milliseconds per phase, as JSON. */
  readonly times: string
}

/** Creates call records from exchanges, without keeping references to them. */
export class RecordFactory {
  readonly #hide: (text: string) => string
  readonly #now: () => number
  readonly #showsValues: (name: string) => boolean
  readonly #texts = new BoundedMap<string, string>({ max: MAX_TEXTS })

  /** `now` is the exchange clock. */
  constructor(hide: (text: string) => string, now: () => number, values: string | readonly string[]) {
    this.#hide = hide
    this.#now = now
    this.#showsValues = compileGlobs(values)
  }

  createRecord(exchange: Exchange): CallRecord {
    const { method, params, principal, session, route, bytes, decidedBy, times } = exchange
    const name = readTargetName(params)
    const shape = method === 'resources/read' ? undefined : describeArguments(params)
    return {
      at: Date.now(),
      ms: this.#measureDuration(exchange, times),
      method: this.#redactText(method),
      name: this.#redactText(name),
      upstream: route?.to === 'one' ? route.upstream : '',
      principal: this.#redactText(principalKey(principal)),
      scopes: this.#redactText(principal.scopes.join(' ')),
      client: this.#redactText(session.client.info.name),
      era: session.client.era,
      session: hashSession(session),
      profile: session.profile ?? '',
      outcome: getOutcome(exchange),
      by: decidedBy ?? '',
      bytesIn: bytes,
      ...measureAnswer(exchange),
      shape: shape === undefined ? '' : this.#redactText(shape, MAX_VALUES_LENGTH),
      args: shape !== undefined && this.#showsValues(name) ? this.#formatValues(params?.arguments) : '',
      times: formatTimes(times),
    }
  }

  /** Sums the phase times if present, so that they add up to the total. */
  #measureDuration({ startedAt }: Exchange, times: PhaseTimes | undefined): number {
    return roundMs(times === undefined ? this.#now() - startedAt : sumTimes(times))
  }

  /** Redacts and truncates a peer's text; cached because few distinct texts occur. */
  #redactText(text: string, longest = MAX_LENGTH): string {
    const cached = this.#texts.get(text)
    if (cached !== undefined) return cached
    const hidden = this.#hide(text)
    const own = hidden.length > longest ? `${hidden.slice(0, longest)}…` : hidden
    if (text.length <= MAX_LENGTH) this.#texts.set(text, own)
    return own
  }

  #formatValues(args: unknown): string {
    const text = this.#hide(JSON.stringify(args))
    return text.length > MAX_VALUES_LENGTH ? `"too long: ${text.length}"` : text
  }
}

const PHASES = ['before', 'policy', 'cache', 'queue', 'upstream', 'client', 'other', 'after'] as const

/** Formats phase times and the upstream request count by hand, because this runs for every call. */
function formatTimes(times: PhaseTimes | undefined): string {
  if (times === undefined) return ''
  let text = `{"tries":${times.tries}`
  for (const phase of PHASES) {
    const ms = roundMs(times[phase])
    if (ms > 0) text += `,"${phase}":${ms}`
  }
  return `${text}}`
}

function sumTimes(times: PhaseTimes): number {
  return PHASES.reduce((total, phase) => total + times[phase], 0)
}

function roundMs(ms: number): number {
  return Math.round(ms * MICROS) / MICROS
}

/** Strips query and credentials from URIs: they may contain secrets. */
function readTargetName(params: JsonObject | undefined): string {
  const { name, uri } = params ?? {}
  if (typeof name === 'string') return name
  if (typeof uri !== 'string') return ''
  return uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
}

const hashes = new WeakMap<readonly unknown[], string>()

function hashSession({ id, client, slots }: Session): string {
  if (client.era !== 'legacy') return ''
  let hash = hashes.get(slots)
  if (hash === undefined) {
    hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_LENGTH)
    hashes.set(slots, hash)
  }
  return hash
}

function measureAnswer({ answer }: Exchange): { readonly code: number; readonly bytesOut: number } {
  if (answer === undefined) return { code: 0, bytesOut: 0 }
  if ('error' in answer) return { code: answer.error.code, bytesOut: 0 }
  const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
  return { code: 0, bytesOut: payload.bytes().length }
}
