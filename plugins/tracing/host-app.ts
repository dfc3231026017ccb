import { contextOf, type TraceContext } from './context.ts'

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
