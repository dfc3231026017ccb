import type { TraceContext } from './context.ts'

/** Bits of `Span.flags` beside those of the trace: that the parent's place is known, and that it is elsewhere. */
const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200

/** A span that has ended. Texts of attributes are JSON already, as most are the same each time. */
interface EndedSpan {
  readonly context: TraceContext
  readonly parent: TraceContext | undefined
  /** True if the parent is in another process. */
  readonly isParentRemote: boolean
  readonly link: TraceContext | undefined
  /** `"name":…,"kind":…` */
  readonly head: string
  /** Milliseconds since 1970, with fractions. */
  readonly startedAt: number
  readonly endedAt: number
  /** Attributes as JSON, divided by commas. */
  readonly attributes: string
  /** Words on the failure; undefined where all went well. */
  readonly failure: string | undefined
}

/** A span as OTLP has it in JSON: ids as hex, 64 bits as a string (proto3 JSON mapping, OTLP 1.x). */
export function spanText(span: EndedSpan): string {
  const { context, parent, link, failure } = span
  const { traceId, spanId, isSampled, state } = context
  const remote = parent === undefined ? 0 : HAS_IS_REMOTE | (span.isParentRemote ? IS_REMOTE : 0)
  return (
    `{"traceId":"${traceId}","spanId":"${spanId}"` +
    (state === undefined ? '' : `,"traceState":${JSON.stringify(state)}`) +
    (parent === undefined ? '' : `,"parentSpanId":"${parent.spanId}"`) +
    `,"flags":${(isSampled ? 1 : 0) | remote},${span.head}` +
    `,"startTimeUnixNano":"${nanos(span.startedAt)}","endTimeUnixNano":"${nanos(span.endedAt)}"` +
    `,"attributes":[${span.attributes}]` +
    (link === undefined ? '' : `,"links":[${linkText(link)}]`) +
    (failure === undefined
      ? ''
      : `,"status":{${failure === '' ? '' : `"message":${JSON.stringify(failure)},`}"code":2}`) +
    '}'
  )
}

function linkText({ traceId, spanId, isSampled, state }: TraceContext): string {
  const said = state === undefined ? '' : `,"traceState":${JSON.stringify(state)}`
  return `{"traceId":"${traceId}","spanId":"${spanId}"${said},"flags":${(isSampled ? 1 : 0) | HAS_IS_REMOTE | IS_REMOTE}}`
}

const SECOND_MS = 1000
const SECOND_MICROS = 1_000_000
let second = 0
let secondText = ''

/**
 * Nanoseconds as text; the last three digits are not known. The seconds are written once for all spans of one: numbers
 * of that size cost as much to write as all else of a span.
 */
function nanos(ms: number): string {
  const whole = Math.floor(ms / SECOND_MS)
  if (whole !== second) {
    second = whole
    secondText = String(whole)
  }
  const micros = Math.min(Math.round((ms - whole * SECOND_MS) * SECOND_MS), SECOND_MICROS - 1)
  return `${secondText}${String(micros + SECOND_MICROS).slice(1)}000`
}

/** An attribute as JSON. */
export function attribute(key: string, value: string | number): string {
  const text =
    typeof value === 'number' ? `{"intValue":"${value}"}` : `{"stringValue":${JSON.stringify(value)}}`
  return `{"key":"${key}","value":${text}}`
}

/** Beginning and end of a request with spans: what is said of the gateway as a whole. */
export function envelope(
  resource: Readonly<Record<string, string>>,
  scope: { readonly name: string; readonly version: string },
): { readonly before: string; readonly after: string } {
  const attributes = Object.entries(resource).map(
    ([key, value]) => `{"key":${JSON.stringify(key)},"value":{"stringValue":${JSON.stringify(value)}}}`,
  )
  return {
    before:
      `{"resourceSpans":[{"resource":{"attributes":[${attributes.join(',')}]},` +
      `"scopeSpans":[{"scope":{"name":${JSON.stringify(scope.name)},"version":${JSON.stringify(scope.version)}},"spans":[`,
    after: ']}]}]}',
  }
}
