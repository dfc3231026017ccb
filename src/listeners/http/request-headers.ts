import type { Credentials, Principal } from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import { HEADER } from '../../protocol/names.ts'
import type { HeaderNames } from './header-names.ts'

/** The headers of one request that we care for, lower case names, and who sent them. */
export interface RequestHeaders {
  /** Whose the request is; nobody's until it was asked. */
  caller: Principal
  /** What he was let in on, once he was asked. */
  credentials: Credentials | undefined
  /** For this listener only: never leaves it. */
  readonly own: Readonly<Record<string, string | undefined>>
  /** Goes with the request on its way: nothing in it identifies or authorises anyone. */
  readonly passed: Readonly<Record<string, string>>
  /** What the caller calls its conversation; undefined when it says nothing. */
  readonly label: string | undefined
  /** The profile that the path names. */
  profile: string | undefined
  /** A header that may stand only once and does not. */
  readonly repeated: string | undefined
}

const OWN = new Set([
  'host',
  'origin',
  'authorization',
  'accept',
  'content-type',
  'content-encoding',
  'content-length',
  'transfer-encoding',
  'access-control-request-headers',
  HEADER.session,
  HEADER.lastEventId,
])
const PASSED = new Set(['x-session-id', 'x-request-id', 'traceparent', 'tracestate', 'baggage'])
/** Lists, which may come in several lines. */
const LISTS = new Set(['accept', 'access-control-request-headers', 'tracestate', 'baggage'])

/** Sorts raw headers in one pass. Node would silently keep the first, or join them. */
export function readHeaders(
  raw: readonly string[],
  { label, alsoPassed }: HeaderNames,
  profile?: string,
): RequestHeaders {
  const own: Record<string, string> = Object.create(null) as Record<string, string>
  const passed: Record<string, string> = Object.create(null) as Record<string, string>
  let repeated: string | undefined
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] as string).toLowerCase()
    const isOwn = OWN.has(name)
    if (!isOwn && !isPassed(name, alsoPassed)) continue
    const into = isOwn ? own : passed
    const before = into[name]
    if (isRepeated(name, before)) repeated ??= name
    const value = joined(before, raw[at + 1] as string)
    into[name] = value
    // A rule may be about what this listener reads too, such as `Origin`.
    if (isOwn && alsoPassed.has(name)) passed[name] = value
  }
  return {
    caller: ANONYMOUS,
    credentials: undefined,
    own,
    passed,
    label: label === undefined ? undefined : passed[label],
    profile,
    repeated,
  }
}

function isRepeated(name: string, before: string | undefined): boolean {
  return before !== undefined && !LISTS.has(name)
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}

function isPassed(name: string, alsoPassed: ReadonlySet<string>): boolean {
  return name.startsWith('mcp-') || PASSED.has(name) || alsoPassed.has(name)
}
