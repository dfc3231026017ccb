import { randomFillSync } from 'node:crypto'
import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'

/** Global key of `@opentelemetry/api`. */
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

/** Reads the host application's active trace context, without importing its API. */
export function readHostContext(): TraceContext | undefined {
  const api = (globalThis as unknown as Record<symbol, HostApi | undefined>)[API]
  const span = api?.context?.active().getValue(SPAN)
  if (!isSpan(span)) return undefined
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const flags = traceFlags.toString(16).padStart(2, '0')
  return parseTraceContext(`00-${traceId}-${spanId}-${flags}`, traceState?.serialize())
}

/** True if the host application uses OpenTelemetry. */
export function hasHostApi(): boolean {
  return API in globalThis
}

function isSpan(value: unknown): value is HostSpan {
  return (
    typeof value === 'object' && value !== null && 'spanContext' in value && typeof value.spanContext === 'function'
  )
}

/** Position in a trace (W3C Trace Context). */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
  /** Vendor data; passed on unchanged. */
  readonly state: string | undefined
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
const PARENT_LENGTH = 55
const TRACE_ID_OFFSET = 3
const SPAN_ID_OFFSET = 36
/** Longer states are dropped, as the specification allows. */
const MAX_STATE_LENGTH = 512
const STATE = /^[\x20-\x7e]+$/
const SAMPLED = 1

/** Parses `traceparent` and `tracestate`; undefined if invalid. */
export function parseTraceContext(parent: unknown, state: unknown): TraceContext | undefined {
  const match = typeof parent === 'string' && isWellFormed(parent) ? PARENT.exec(parent) : null
  if (match === null) return undefined
  const [, , traceId = '', spanId = '', flags = ''] = match
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED
  return { traceId, spanId, isSampled, state: parseTraceState(state) }
}

/** Rejects version ff and zero ids; later versions may be longer. */
function isWellFormed(parent: string): boolean {
  if (parent.startsWith('ff') || (parent.startsWith('00') && parent.length !== PARENT_LENGTH)) return false
  return !parent.startsWith(NO_TRACE, TRACE_ID_OFFSET) && !parent.startsWith(NO_SPAN, SPAN_ID_OFFSET)
}

function parseTraceState(state: unknown): string | undefined {
  return typeof state === 'string' && state.length <= MAX_STATE_LENGTH && STATE.test(state) ? state : undefined
}

/** Reads the context from `_meta`. */
export function readMetaContext(params: JsonObject | undefined): TraceContext | undefined {
  const meta = params?._meta
  return isObject(meta) ? parseTraceContext(meta.traceparent, meta.tracestate) : undefined
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}

/** Sets the context in `_meta`, with `parent` as `traceparent`; removes `baggage` unless `keepsBaggage` is true. */
export function injectContext(
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

/** Creates a random hex id. Random bytes are drawn in bulk, because one draw costs as much as hundreds. */
export function createRandomId(bytes: 8 | 16): string {
  const length = bytes * 2
  if (used + length > pool.length) {
    pool = randomFillSync(POOL).toString('hex')
    used = 0
  }
  const id = pool.slice(used, used + length)
  used += length
  return id
}
