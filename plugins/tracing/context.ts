import { randomFillSync } from 'node:crypto'
import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'

/** Key under which `@opentelemetry/api` registers itself for all of its copies in a process. */
const API = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')

interface HostSpan {
  spanContext(): {
    readonly traceId: string
    readonly spanId: string
    readonly traceFlags: number
    readonly traceState?: { serialize(): string } | undefined
  }
}

interface HostApi {
  readonly context?: { active(): { getValue(key: symbol): unknown } }
}

/** The place in the trace of an application that the gateway is a part of; undefined where it has none. Nothing is imported. */
export function hostContext(): TraceContext | undefined {
  const api = (globalThis as unknown as Record<symbol, HostApi | undefined>)[API]
  const span = api?.context?.active().getValue(SPAN)
  if (!isSpan(span)) return undefined
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const flags = traceFlags.toString(16).padStart(2, '0')
  return contextOf(`00-${traceId}-${spanId}-${flags}`, traceState?.serialize())
}

/** True if the process has the API: then requests from within are looked at when they begin. */
export function hasHostApi(): boolean {
  return API in globalThis
}

function isSpan(value: unknown): value is HostSpan {
  return (
    typeof value === 'object' &&
    value !== null &&
    'spanContext' in value &&
    typeof value.spanContext === 'function'
  )
}

/** Place in a trace, as W3C Trace Context has it. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
  /** Data of vendors about the trace; passed on as it came. */
  readonly state: string | undefined
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
const PARENT_LENGTH = 55
/** Where the two ids begin. */
const TRACE_AT = 3
const SPAN_AT = 36
/** Longer states are dropped, as the recommendation allows. */
const MAX_STATE_LENGTH = 512
const STATE = /^[\x20-\x7e]+$/
const SAMPLED = 1

/** Reads `traceparent` and `tracestate`; undefined for what is none. */
export function contextOf(parent: unknown, state: unknown): TraceContext | undefined {
  const found = typeof parent === 'string' && isWellFormed(parent) ? PARENT.exec(parent) : null
  if (found === null) return undefined
  const [, , traceId = '', spanId = '', flags = ''] = found
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED
  return { traceId, spanId, isSampled, state: stateOf(state) }
}

/** Later versions may be longer; version ff, and ids of zeros, are none. */
function isWellFormed(parent: string): boolean {
  if (parent.startsWith('ff') || (parent.startsWith('00') && parent.length !== PARENT_LENGTH)) return false
  return !parent.startsWith(NO_TRACE, TRACE_AT) && !parent.startsWith(NO_SPAN, SPAN_AT)
}

function stateOf(state: unknown): string | undefined {
  return typeof state === 'string' && state.length <= MAX_STATE_LENGTH && STATE.test(state)
    ? state
    : undefined
}

/** The context in the `_meta` of parameters. */
export function contextIn(params: JsonObject | undefined): TraceContext | undefined {
  const meta = params?._meta
  return isObject(meta) ? contextOf(meta.traceparent, meta.tracestate) : undefined
}

/** `traceparent` of a context. */
export function parentText({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

/** The parameters with this context, and with `parent` as its text, in place of the one that came; `baggage` goes unless it is kept. */
export function withContext(
  params: JsonObject | undefined,
  context: TraceContext,
  parent: string,
  keepsBaggage: boolean,
): JsonObject {
  const meta: JsonObject = isObject(params?._meta) ? { ...params._meta } : {}
  meta.traceparent = parent
  if (context.state !== undefined) meta.tracestate = context.state
  else if (meta.tracestate !== undefined) delete meta.tracestate
  if (!keepsBaggage && meta.baggage !== undefined) delete meta.baggage
  return { ...params, _meta: meta }
}

const POOL = Buffer.alloc(4096)
let pool = ''
let used = 0

/** A random id of so many bytes as hex; random bytes are taken by the pool, as one draw costs as much as hundreds. */
export function randomId(bytes: 8 | 16): string {
  const length = bytes * 2
  if (used + length > pool.length) {
    pool = randomFillSync(POOL).toString('hex')
    used = 0
  }
  const id = pool.slice(used, used + length)
  used += length
  return id
}
