import type { SpanContext } from '@opentelemetry/api'
import type { JsonObject } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { OtelApi } from './otel.ts'

/** Longer states are dropped, as the specification allows. */
const MAX_STATE_LENGTH = 512

/** Parses W3C `traceparent` and `tracestate`; undefined if invalid. */
export function parseTraceContext(api: OtelApi, parent: unknown, state: unknown): SpanContext | undefined {
  const context = typeof parent === 'string' ? api.parseTraceParent(parent) : null
  if (context === null || !api.isSpanContextValid(context)) return undefined
  const hasState = typeof state === 'string' && state.length <= MAX_STATE_LENGTH
  return { ...context, isRemote: true, ...(hasState ? { traceState: new api.TraceState(state) } : {}) }
}

/** Reads the context from `_meta`. */
export function readMetaContext(api: OtelApi, params: JsonObject | undefined): SpanContext | undefined {
  const meta = params?._meta
  return isObject(meta) ? parseTraceContext(api, meta.traceparent, meta.tracestate) : undefined
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`
}

/** Sets the context in `_meta`; removes `baggage` unless `keepsBaggage` is true. */
export function injectContext(params: JsonObject | undefined, context: SpanContext, keepsBaggage: boolean): JsonObject {
  const meta: JsonObject = isObject(params?._meta) ? { ...params._meta } : {}
  const state = context.traceState?.serialize()
  meta.traceparent = formatTraceparent(context)
  if (state !== undefined) meta.tracestate = state
  else delete meta.tracestate
  if (!keepsBaggage) delete meta.baggage
  return { ...params, _meta: meta }
}
