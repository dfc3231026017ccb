import { createHash } from 'node:crypto'
import type { Answer, CallRecord, CallTimes, Exchange, Session } from '../api/exchange.ts'
import { getOutcome } from '../api/exchange.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { Payload } from '../protocol/payload.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { BoundedMap } from '../util/bounded-map.ts'

/** Longest recorded text, because peers choose them. */
const MAX_LENGTH = 256
/** Longest recorded arguments, result or error message. */
const MAX_VALUE_LENGTH = 8192
/** Cached texts: few distinct ones occur, and hiding secrets is costly. */
const MAX_TEXTS = 4096
const DIGEST_LENGTH = 16
/** Members listed in a shape, over all levels. */
const MAX_MEMBERS = 64
const MAX_DEPTH = 3

interface RecorderDeps {
  hide(text: string): string
  /** Monotonic milliseconds, like an exchange's `startedAt`. */
  now(): number
}

const HAS_ARGUMENTS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])
const NO_ROUTE = { upstream: '', params: undefined }
const NO_FAILURE = { code: 0, reason: '', error: '' }
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Creates one generation's records. */
export class CallRecorder {
  readonly #deps: RecorderDeps
  readonly #texts = new BoundedMap<string, string>({ max: MAX_TEXTS })

  constructor(deps: RecorderDeps) {
    this.#deps = deps
  }

  createRecord(exchange: Exchange): CallRecord {
    const { id, method, params, route, principal, session, decidedBy = '', via, bytes } = exchange
    const { hide, now } = this.#deps
    const { client, listener, profile = '' } = session
    const payload = getPayload(exchange.answer)
    const { code, reason, error } = this.#describeFailure(exchange)
    const { upstream, params: sent } = route?.to === 'one' ? route : NO_ROUTE
    return {
      id,
      at: Date.now(),
      ms: roundMs(now() - exchange.startedAt),
      times: exchange.times && roundTimes(exchange.times),
      method: this.#toText(method),
      name: this.#toText(readTargetName(params)),
      original: this.#toText(readTargetName(sent)),
      upstream,
      shape: HAS_ARGUMENTS.has(method) ? this.#describeArguments(params) : undefined,
      principal: [this.#toText(principal.issuer), this.#toText(principal.client), this.#toText(principal.subject)],
      scopes: this.#toText(principal.scopes.join(' ')),
      listener,
      profile,
      client: this.#toText(client.info.name),
      clientVersion: this.#toText(client.info.version),
      era: client.era,
      via,
      session: digestSession(session),
      outcome: getOutcome(exchange),
      by: decidedBy,
      code,
      reason,
      error,
      bytesIn: bytes,
      bytesOut: getSize(payload),
      trace: readTrace(exchange),
      writeArguments: () => writeValue(params?.arguments, hide),
      // Hide before truncating, or half a secret could remain.
      writeResult: () =>
        cutText(hide(payload?.bytes().toString('utf8', 0, 2 * MAX_VALUE_LENGTH) ?? ''), MAX_VALUE_LENGTH),
    }
  }

  #describeFailure({ answer, decidedBy }: Exchange): Pick<CallRecord, 'code' | 'reason' | 'error'> {
    if (answer === undefined || !('error' in answer)) return NO_FAILURE
    const { code, message } = answer.error
    const reason = this.#getReason(answer.error, decidedBy !== undefined)
    return { code, reason, error: cutText(this.#deps.hide(message), MAX_VALUE_LENGTH) }
  }

  #describeArguments(params: JsonObject | undefined): unknown {
    return this.#describeValue(params?.arguments, MAX_DEPTH, { remaining: MAX_MEMBERS })
  }

  /** Describes a value by names, types and lengths: `{"path":"string(12)","deep":{"n":"number"}}`. */
  #describeValue(value: unknown, depth: number, budget: { remaining: number }): unknown {
    if (value === undefined) return undefined
    if (typeof value === 'string') return `string(${value.length})`
    if (Array.isArray(value)) return `array(${value.length})`
    if (!isObject(value)) return value === null ? 'null' : typeof value
    if (depth === 0) return 'object'
    const members: [string, unknown][] = []
    for (const key in value) {
      const isFull = budget.remaining-- <= 0
      members.push(isFull ? ['…', 'more'] : [this.#toText(key), this.#describeValue(value[key], depth - 1, budget)])
      if (isFull) break
    }
    return Object.fromEntries(members)
  }

  /** Returns our error code, or a plugin's message. */
  #getReason({ message, data }: RpcError, isOurs: boolean): string {
    const code = isObject(data) ? data.code : undefined
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code
    return isOurs ? this.#toText(message) : ''
  }

  /** Hides secrets in a peer's text and truncates it. */
  #toText(text: string): string {
    const cached = this.#texts.get(text)
    if (cached !== undefined) return cached
    const visible = cutText(this.#deps.hide(text), MAX_LENGTH)
    if (text.length <= 2 * MAX_LENGTH) this.#texts.set(text, visible)
    return visible
  }
}

/** Strips query and credentials from URIs: they may contain secrets. */
function readTargetName(params: JsonObject | undefined): string {
  const name = params?.name ?? params?.taskId
  if (typeof name === 'string') return name
  const uri = params?.uri
  return typeof uri === 'string' ? uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1') : ''
}

function getPayload(answer: Answer | undefined): Payload | undefined {
  if (answer === undefined || 'error' in answer) return undefined
  return 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
}

function getSize(payload: Payload | undefined): number {
  return payload?.bytes().length ?? 0
}

const digests = new WeakMap<readonly unknown[], string>()

function digestSession({ id, client, slots }: Session): string {
  if (client.era !== 'legacy') return ''
  let digest = digests.get(slots)
  if (digest === undefined) {
    digest = createHash('sha256').update(id).digest('hex').slice(0, DIGEST_LENGTH)
    digests.set(slots, digest)
  }
  return digest
}

function readTrace({ params, headers }: Exchange): string {
  const meta = params?._meta
  const parent = (isObject(meta) ? meta.traceparent : undefined) ?? headers.traceparent
  return typeof parent === 'string' && TRACEPARENT.test(parent) ? parent : ''
}

function writeValue(value: unknown, hide: (text: string) => string): string {
  const text = value === undefined ? '' : hide(JSON.stringify(value))
  return text.length > MAX_VALUE_LENGTH ? `"too long: ${text.length}"` : text
}

function cutText(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text
}

function roundTimes({ upstream, client, tries }: CallTimes): CallTimes {
  return { upstream: roundMs(upstream), client: roundMs(client), tries }
}

function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
