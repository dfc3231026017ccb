import { createHash } from 'node:crypto'
import type { Exchange, JsonObject, PhaseTimes, Session } from '../../src/plugin.ts'
import { describeArguments, BoundedMap, compileGlobs, getOutcome, principalKey } from '../../src/plugin.ts'

/** Longer texts are cut: any peer may write them. */
const MAX_LENGTH = 256
const MAX_VALUES_LENGTH = 8192
const HASH_LENGTH = 16
const MAX_TEXTS = 4096
const MICROS = 1000

/** One call as it is kept: a row without its number. */
export interface CallRecord {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ms: number
  readonly method: string
  /** Name as its client says it, or URI; empty where there is none. */
  readonly name: string
  readonly upstream: string
  /** Issuer, client and subject as JSON. */
  readonly principal: string
  readonly scopes: string
  readonly client: string
  readonly era: string
  /** Hash of the session's id; empty for modern clients, whose requests are sessions of their own. */
  readonly session: string
  readonly profile: string
  readonly outcome: string
  /** The error's code; 0 where there is none. */
  readonly code: number
  /** The plugin that refused or answered it. */
  readonly by: string
  readonly bytesIn: number
  readonly bytesOut: number
  readonly shape: string
  readonly args: string
  /** Milliseconds in each phase that it was in, as JSON. */
  readonly times: string
}

/** Makes records of exchanges. It holds on to nothing of theirs. */
export class RecordFactory {
  readonly #hide: (text: string) => string
  readonly #now: () => number
  readonly #showsValues: (name: string) => boolean
  readonly #texts = new BoundedMap<string, string>({ max: MAX_TEXTS })

  /** `now` is the clock of exchanges. */
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

  /** The sum of the times where there are any, so that the parts are the whole. */
  #measureDuration({ startedAt }: Exchange, times: PhaseTimes | undefined): number {
    return roundMs(times === undefined ? this.#now() - startedAt : sumTimes(times))
  }

  /** A text of somebody else's without secrets. The same few come again and again. */
  #redactText(text: string, longest = MAX_LENGTH): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
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

/** Phases in which it was, and how often a server was asked; written by hand, as this is done for each call. */
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

/** Of a URI without what may be a key or a password in it. */
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
