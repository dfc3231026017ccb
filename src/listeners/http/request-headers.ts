import type { Choices, Config, Credentials, ListenerConfig, Principal } from '../../api/index.ts'
import { ANONYMOUS } from '../../plugin.ts'
import { isObject } from '../../protocol/json/json.ts'
import { HEADER } from '../../protocol/methods.ts'
import type { Addressed, Origin } from '../client/inbound-request.ts'

/** The headers of one request that are read here, with lower case names, and its caller. */
export interface RequestHeaders {
  /** The authenticated caller; ANONYMOUS until `authenticate` has run. */
  caller: Principal
  /** Credentials that the caller was let in on; undefined until `authenticate` has run. */
  credentials: Credentials | undefined
  /** For this listener only: never leaves it. */
  readonly own: Readonly<Record<string, string | undefined>>
  /** Goes with the request on its way: nothing in it identifies or authorises anyone. */
  readonly passed: Readonly<Record<string, string>>
  /** The name that the caller gives to its conversation; undefined when it gives none. */
  readonly label: string | undefined
  /** The profile that the path names. */
  profile: string | undefined
  /** What the query chooses; undefined until the caller was let in, and where it chooses nothing. */
  choices: Choices | undefined
  /** A header that may stand only once and does not. */
  readonly repeated: string | undefined
  /** The connection that they came over. */
  socket: Addressed | undefined
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
    choices: undefined,
    repeated,
    socket: undefined,
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

/** Facts of a request that go through the pipeline beside its message. A gateway in front of this one may have one session with it for many clients. */
export function originOf({ passed, caller, credentials, label, socket }: RequestHeaders): Origin {
  return { via: 'http', socket, headers: passed, principal: caller, credentials, label, client: undefined }
}

/** Names of headers that a configuration speaks of, in lower case. */
export interface HeaderNames {
  /** The header with the label of a conversation; undefined when none is read. */
  readonly label: string | undefined
  /** Passed on beside those that always are. */
  readonly alsoPassed: ReadonlySet<string>
}

/** Every header that any section names must get past the listener, or what that section says does nothing. */
export function headerNames(
  { sessionLabel }: Extract<ListenerConfig, { type: 'http' }>,
  { sessionHeaders, upstreams, cache, policy }: Config,
): HeaderNames {
  const label = sessionLabel === false ? undefined : sessionLabel.toLowerCase()
  const named = [label, sessionHeaders?.header, ...variedIn(cache), ...(policy?.headers ?? [])]
  for (const spec of Object.values(upstreams)) {
    if ('forwardHeaders' in spec) named.push(...(spec.forwardHeaders ?? []))
    named.push(...variedIn(spec.cache))
  }
  return {
    label,
    alsoPassed: new Set(named.flatMap(name => (name === undefined ? [] : [name.toLowerCase()]))),
  }
}

/** The headers by which any rule of a cache section tells answers apart. */
function variedIn(section: unknown): string[] {
  if (!isObject(section)) return []
  return Object.entries(section).flatMap(([key, value]) => {
    if (key !== 'vary' || !Array.isArray(value)) return variedIn(value)
    return value.flatMap((word: unknown) =>
      typeof word === 'string' && word.startsWith('header:') ? [word.slice('header:'.length)] : [],
    )
  })
}
