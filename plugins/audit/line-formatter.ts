import { createHash } from 'node:crypto'
import type {
  AuditEvent,
  Credentials,
  Exchange,
  JsonObject,
  Principal,
  Refusal,
  RpcError,
  Session,
} from '../../src/plugin.ts'
import { ANONYMOUS, BoundedMap, isObject, getOutcome, principalKey } from '../../src/plugin.ts'

/** Longest stored text, so that peers cannot fill the disk. */
const MAX_LENGTH = 256

/** Maximum cached encoded texts. */
const MAX_TEXTS = 4096

const MAX_DEPTH = 3

/** Members listed over all levels. */
const MAX_MEMBERS = 64

interface LineFormatterDeps {
  readonly texts: TextEncoderCache
  hide(text: string): string
  /** Wall clock in milliseconds. */
  time(): number
  /** Monotonic milliseconds, like an exchange's `startedAt`. */
  now(): number
  /** Salt that makes ids differ between runs. */
  readonly run: string
  readonly hashSessions: boolean
  /** True if this tool's or prompt's arguments are logged unredacted. */
  showsValues(name: string): boolean
}

const MAX_VALUES_LENGTH = 8192

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Formats exchanges and refusals as JSON lines, assembled from cached parts because this runs for every call. */
export class LineFormatter {
  readonly #settings: LineFormatterDeps
  #at = 0
  #atText = ''

  constructor(settings: LineFormatterDeps) {
    this.#settings = settings
  }

  formatCall(exchange: Exchange, callerFields: string): string {
    const { run, now } = this.#settings
    const ms = Math.round((now() - exchange.startedAt) * 1000) / 1000
    return (
      `{"time":"${this.#formatTime()}","kind":"call","id":"${run}-${exchange.id}",${callerFields}` +
      `${this.#formatTarget(exchange)}${this.#formatOutcome(exchange)},"ms":${ms},"bytesIn":${exchange.bytes}` +
      `${countAnswerBytes(exchange)}${this.#formatArguments(exchange)}${formatTrace(exchange)}}`
    )
  }

  /** Formats an event outside calls, such as a client request, a permission or an owner action. */
  formatEvent({ kind, name, outcome, exchange, fields = {} }: AuditEvent, callerFields: string): string {
    const { run, texts } = this.#settings
    const call = exchange === undefined ? '' : `"call":"${run}-${exchange.id}",${callerFields}`
    let more = ''
    for (const [key, value] of Object.entries(fields))
      more += `,${texts.encodeText(key)}:${typeof value === 'number' ? JSON.stringify(value) : texts.encodeText(value)}`
    return (
      `{"time":"${this.#formatTime()}","kind":"${kind}",${call}"name":${texts.encodeText(name)}` +
      `${formatUpstream(exchange, texts)}${more},"outcome":${texts.encodeText(outcome)}}`
    )
  }

  /** Formats an HTTP request that failed authentication. */
  formatRefusal({ status, error }: Refusal, { listener, method, path, remoteAddress }: Credentials): string {
    const { texts } = this.#settings
    return (
      `{"time":"${this.#formatTime()}","kind":"refused","listener":${texts.encodeText(listener)},"http":${texts.encodeText(method)},` +
      `"path":${texts.encodeText(path)},"address":${texts.encodeText(remoteAddress ?? '')},"status":${status},` +
      `"code":${error.code}${this.#formatReason(error, true)}}`
    )
  }

  /** Formats an event about the audit log itself. */
  formatNote(kind: string, fields: object): string {
    return JSON.stringify({ time: this.#formatTime(), kind, ...fields })
  }

  /** Formats the members that identify the caller; constant per session. */
  formatCaller({ id, listener, principal, client }: Session): string {
    const { texts } = this.#settings
    // A modern HTTP request has its own session, so its id is useless.
    const session = client.era === 'legacy' ? `"session":${texts.encodeText(this.#formatSessionId(id))},` : ''
    return (
      `${session}"principal":${this.#formatPrincipal(principal)},"listener":${texts.encodeText(listener)},` +
      `"client":${texts.encodeText(client.info.name)},"clientVersion":${texts.encodeText(client.info.version)},` +
      `"era":"${client.era}",`
    )
  }

  #formatTime(): string {
    const at = this.#settings.time()
    if (at !== this.#at) {
      this.#at = at
      this.#atText = new Date(at).toISOString()
    }
    return this.#atText
  }

  #formatSessionId(id: string): string {
    return this.#settings.hashSessions ? createHash('sha256').update(id).digest('hex').slice(0, 16) : id
  }

  #formatPrincipal(principal: Principal): string {
    if (principal.subject === ANONYMOUS.subject && principal.issuer === '') return '"anonymous"'
    // A JSON array of issuer, client and subject prevents forged delimiters.
    return this.#settings.texts.encodeJson(principalKey(principal))
  }

  #formatTarget({ method, params, route }: Exchange): string {
    const { texts } = this.#settings
    const name = readTargetName(params)
    const exposed = name === undefined ? '' : `,"name":${texts.encodeText(name)}`
    if (route?.to !== 'one') return `"method":${texts.encodeText(method)}${exposed}`
    const original = readTargetName(route.params)
    const own = original === undefined ? '' : `,"original":${texts.encodeText(original)}`
    return `"method":${texts.encodeText(method)}${exposed},"upstream":${texts.encodeText(route.upstream)}${own}`
  }

  #formatOutcome(exchange: Exchange): string {
    const { answer, decidedBy } = exchange
    const outcome = getOutcome(exchange)
    const by = outcome === 'refused' ? `,"by":${this.#settings.texts.encodeText(decidedBy ?? 'catalog')}` : ''
    if (answer === undefined || !('error' in answer)) return `,"outcome":"${outcome}"${by}`
    const { error } = answer
    return `,"outcome":"${outcome}"${by},"code":${error.code}${this.#formatReason(error, decidedBy !== undefined)}`
  }

  /** Includes our error codes, but only plugins' messages: an upstream's text may contain secrets. */
  #formatReason({ message, data }: RpcError, isOurs: boolean): string {
    const code = isObject(data) ? data.code : undefined
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return `,"reason":"${code}"`
    return isOurs ? `,"reason":${this.#settings.texts.encodeText(message)}` : ''
  }

  #formatArguments({ method, params }: Exchange): string {
    if (method !== 'tools/call' && method !== 'prompts/get') return ''
    const { texts, showsValues } = this.#settings
    const args = params?.arguments
    if (args === undefined) return ''
    const shape = `,"shape":${describeArguments(args, texts)}`
    const name = params?.name
    return typeof name === 'string' && showsValues(name)
      ? `${shape},"arguments":${this.#formatValues(params?.arguments)}`
      : shape
  }

  #formatValues(args: unknown): string {
    const text = this.#settings.hide(JSON.stringify(args))
    return text.length > MAX_VALUES_LENGTH ? `"too long: ${text.length}"` : text
  }
}

function formatUpstream(exchange: Exchange | undefined, texts: TextEncoderCache): string {
  return exchange?.route?.to === 'one' ? `,"upstream":${texts.encodeText(exchange.route.upstream)}` : ''
}

/** Returns the exposed name; strips query and credentials from URIs. */
function readTargetName(params: Exchange['params']): string | undefined {
  const name = params?.name ?? params?.taskId
  if (typeof name === 'string') return name
  const uri = params?.uri
  if (typeof uri !== 'string') return undefined
  return uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
}

function countAnswerBytes({ answer }: Exchange): string {
  if (answer === undefined || 'error' in answer) return ''
  const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
  return `,"bytesOut":${payload.bytes().length}`
}

function formatTrace({ params, headers }: Exchange): string {
  const meta = params?._meta
  const parent = (isObject(meta) ? meta.traceparent : undefined) ?? headers.traceparent
  return typeof parent === 'string' && TRACEPARENT.test(parent) ? `,"trace":"${parent}"` : ''
}

interface Budget {
  remaining: number
}

/**
 * Describes argument names, types and lengths without values, as JSON: `{"path":"string(12)","deep":{"n":"number"}}`.
 */
function describeArguments(args: unknown, texts: TextEncoderCache): string {
  return describeValue(args, texts, MAX_DEPTH, { remaining: MAX_MEMBERS })
}

function describeValue(value: unknown, texts: TextEncoderCache, depth: number, budget: Budget): string {
  if (typeof value === 'string') return `"string(${value.length})"`
  if (Array.isArray(value)) return `"array(${value.length})"`
  if (isObject(value)) return depth > 0 ? describeMembers(value, texts, depth - 1, budget) : '"object"'
  return value === null ? '"null"' : `"${typeof value}"`
}

function describeMembers(value: JsonObject, texts: TextEncoderCache, depth: number, budget: Budget): string {
  let text = ''
  for (const key in value) {
    if (budget.remaining-- <= 0) {
      text += `${text === '' ? '' : ','}"…":"more"`
      break
    }
    text += `${text === '' ? '' : ','}${texts.encodeText(key)}:${describeValue(value[key], texts, depth, budget)}`
  }
  return `{${text}}`
}

/** Encodes peers' texts as redacted JSON strings; cached because few distinct texts occur. */
export class TextEncoderCache {
  readonly #hide: (text: string) => string
  readonly #texts = new BoundedMap<string, string>({ max: MAX_TEXTS })
  readonly #knownJson = new BoundedMap<string, string>({ max: MAX_TEXTS })

  constructor(hide: (text: string) => string) {
    this.#hide = hide
  }

  encodeText(text: string): string {
    return this.#texts.get(text) ?? this.#storeText(this.#texts, text, this.#quoteText(text))
  }

  /** Redacts a text that is JSON already. */
  encodeJson(text: string): string {
    return this.#knownJson.get(text) ?? this.#storeText(this.#knownJson, text, this.#hide(text))
  }

  #quoteText(text: string): string {
    // Redact before truncating, or half a secret could remain.
    const visibleText = this.#hide(text)
    return JSON.stringify(visibleText.length > MAX_LENGTH ? `${visibleText.slice(0, MAX_LENGTH)}…` : visibleText)
  }

  #storeText(cache: BoundedMap<string, string>, text: string, formattedText: string): string {
    if (text.length > 2 * MAX_LENGTH) return formattedText
    cache.set(text, formattedText)
    return formattedText
  }
}
