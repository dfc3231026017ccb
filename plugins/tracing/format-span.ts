import type { TraceContext } from './trace-context.ts'

/** Bits of `Span.flags`: the remote state is known, and the parent is remote. */
const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200

/** Finished span; most attribute texts are reused. */
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
  /** Attributes as JSON, separated by commas. */
  readonly attributes: string
  /** Failure message; undefined for success. */
  readonly failure: string | undefined
}

/** Formats a span as OTLP JSON: hex ids, 64-bit numbers as strings (proto3 JSON mapping, OTLP 1.x). */
export function formatSpan(span: EndedSpan): string {
  const { context, parent, link, failure } = span
  const { traceId, spanId, isSampled, state } = context
  const remote = parent === undefined ? 0 : HAS_IS_REMOTE | (span.isParentRemote ? IS_REMOTE : 0)
  return (
    `{"traceId":"${traceId}","spanId":"${spanId}"` +
    (state === undefined ? '' : `,"traceState":${JSON.stringify(state)}`) +
    (parent === undefined ? '' : `,"parentSpanId":"${parent.spanId}"`) +
    `,"flags":${(isSampled ? 1 : 0) | remote},${span.head}` +
    `,"startTimeUnixNano":"${formatNanoseconds(span.startedAt)}","endTimeUnixNano":"${formatNanoseconds(span.endedAt)}"` +
    `,"attributes":[${span.attributes}]` +
    (link === undefined ? '' : `,"links":[${formatLink(link)}]`) +
    (failure === undefined
      ? ''
      : `,"status":{${failure === '' ? '' : `"message":${JSON.stringify(failure)},`}"code":2}`) +
    '}'
  )
}

function formatLink({ traceId, spanId, isSampled, state }: TraceContext): string {
  const stateMember = state === undefined ? '' : `,"traceState":${JSON.stringify(state)}`
  return `{"traceId":"${traceId}","spanId":"${spanId}"${stateMember},"flags":${(isSampled ? 1 : 0) | HAS_IS_REMOTE | IS_REMOTE}}`
}

const SECOND_MS = 1000
const SECOND_MICROS = 1_000_000
let second = 0
let secondText = ''

/**
 * Formats nanoseconds, with microsecond precision. Caches the seconds, because formatting large numbers takes half
 * the time.
 */
function formatNanoseconds(ms: number): string {
  const wholeSecond = Math.floor(ms / SECOND_MS)
  if (wholeSecond !== second) {
    second = wholeSecond
    secondText = String(wholeSecond)
  }
  const micros = Math.min(Math.round((ms - wholeSecond * SECOND_MS) * SECOND_MS), SECOND_MICROS - 1)
  return `${secondText}${String(micros + SECOND_MICROS).slice(1)}000`
}

export function formatAttribute(key: string, value: string | number): string {
  const text = typeof value === 'number' ? `{"intValue":"${value}"}` : `{"stringValue":${JSON.stringify(value)}}`
  return `{"key":"${key}","value":${text}}`
}

/** Request start and end, with the resource attributes. */
export function createEnvelope(
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
