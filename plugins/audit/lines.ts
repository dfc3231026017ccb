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

/** Longer texts are cut: what a peer calls itself must not fill the disk. */
const MAX_LENGTH = 256

/** Texts that are kept as they are written. */
const MAX_TEXTS = 4096

const MAX_DEPTH = 3

/** Members that are named, over all levels. */
const MAX_MEMBERS = 64

/** Settings of the lines of one generation. */
interface LineSettings {
  readonly texts: Texts
  hide(text: string): string
  /** Wall-clock milliseconds. */
  time(): number
  /** Monotonic milliseconds, as `startedAt` of an exchange. */
  now(): number
  /** Makes ids unlike those of other runs. */
  readonly run: string
  readonly hashSessions: boolean
  /** True if the arguments of this tool or prompt are written as they are. */
  showsValues(name: string): boolean
}

const MAX_VALUES_LENGTH = 8192

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/** Writes exchanges and refusals as JSON text. Pieced together from parts that are known, as it is done for every call. */
export class Lines {
  readonly #settings: LineSettings
  #at = 0
  #atText = ''

  constructor(settings: LineSettings) {
    this.#settings = settings
  }

  /** One call with all that came of it. */
  call(exchange: Exchange, who: string): string {
    const { run, now } = this.#settings
    const ms = Math.round((now() - exchange.startedAt) * 1000) / 1000
    return (
      `{"time":"${this.#time()}","kind":"call","id":"${run}-${exchange.id}",${who}` +
      `${this.#target(exchange)}${this.#outcome(exchange)},"ms":${ms},"bytesIn":${exchange.bytes}` +
      `${answerBytes(exchange)}${this.#arguments(exchange)}${trace(exchange)}}`
    )
  }

  /** Something beside the calls: a server that asked a client, a permission, the owner. */
  event({ kind, name, outcome, exchange, fields = {} }: AuditEvent, who: string): string {
    const { run, texts } = this.#settings
    const call = exchange === undefined ? '' : `"call":"${run}-${exchange.id}",${who}`
    let more = ''
    for (const [key, value] of Object.entries(fields))
      more += `,${texts.of(key)}:${typeof value === 'number' ? JSON.stringify(value) : texts.of(value)}`
    return (
      `{"time":"${this.#time()}","kind":"${kind}",${call}"name":${texts.of(name)}` +
      `${upstreamOf(exchange, texts)}${more},"outcome":${texts.of(outcome)}}`
    )
  }

  /** An HTTP request whose sender was not let in. */
  refused({ status, error }: Refusal, { listener, method, path, remoteAddress }: Credentials): string {
    const { texts } = this.#settings
    return (
      `{"time":"${this.#time()}","kind":"refused","listener":${texts.of(listener)},"http":${texts.of(method)},` +
      `"path":${texts.of(path)},"address":${texts.of(remoteAddress ?? '')},"status":${status},` +
      `"code":${error.code}${this.#reason(error, true)}}`
    )
  }

  /** Anything else that happened to the audit itself. */
  note(kind: string, fields: object): string {
    return JSON.stringify({ time: this.#time(), kind, ...fields })
  }

  /** Members that name the caller; the same for a whole session. */
  who({ id, listener, principal, client }: Session): string {
    const { texts } = this.#settings
    // A modern HTTP request is a session of its own: its id says nothing.
    const session = client.era === 'legacy' ? `"session":${texts.of(this.#sessionId(id))},` : ''
    return (
      `${session}"principal":${this.#principal(principal)},"listener":${texts.of(listener)},` +
      `"client":${texts.of(client.info.name)},"clientVersion":${texts.of(client.info.version)},` +
      `"era":"${client.era}",`
    )
  }

  #time(): string {
    const at = this.#settings.time()
    if (at !== this.#at) {
      this.#at = at
      this.#atText = new Date(at).toISOString()
    }
    return this.#atText
  }

  #sessionId(id: string): string {
    return this.#settings.hashSessions ? createHash('sha256').update(id).digest('hex').slice(0, 16) : id
  }

  #principal(principal: Principal): string {
    if (principal.subject === ANONYMOUS.subject && principal.issuer === '') return '"anonymous"'
    // An array of issuer, client and subject in its text: no delimiter can be forged.
    return this.#settings.texts.json(principalKey(principal))
  }

  #target({ method, params, route }: Exchange): string {
    const { texts } = this.#settings
    const name = nameIn(params)
    const exposed = name === undefined ? '' : `,"name":${texts.of(name)}`
    if (route?.to !== 'one') return `"method":${texts.of(method)}${exposed}`
    const original = nameIn(route.params)
    const own = original === undefined ? '' : `,"original":${texts.of(original)}`
    return `"method":${texts.of(method)}${exposed},"upstream":${texts.of(route.upstream)}${own}`
  }

  #outcome(exchange: Exchange): string {
    const { answer, decidedBy } = exchange
    const outcome = getOutcome(exchange)
    const by = outcome === 'refused' ? `,"by":${this.#settings.texts.of(decidedBy ?? 'catalog')}` : ''
    if (answer === undefined || !('error' in answer)) return `,"outcome":"${outcome}"${by}`
    const { error } = answer
    return `,"outcome":"${outcome}"${by},"code":${error.code}${this.#reason(error, decidedBy !== undefined)}`
  }

  /** A code of ours; a text only from a plugin, as a server's may hold anything. */
  #reason({ message, data }: RpcError, isOurs: boolean): string {
    const code = isObject(data) ? data.code : undefined
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return `,"reason":"${code}"`
    return isOurs ? `,"reason":${this.#settings.texts.of(message)}` : ''
  }

  #arguments({ method, params }: Exchange): string {
    if (method !== 'tools/call' && method !== 'prompts/get') return ''
    const { texts, showsValues } = this.#settings
    const args = params?.arguments
    if (args === undefined) return ''
    const shape = `,"shape":${shapeOf(args, texts)}`
    const name = params?.name
    return typeof name === 'string' && showsValues(name)
      ? `${shape},"arguments":${this.#values(params?.arguments)}`
      : shape
  }

  #values(args: unknown): string {
    const text = this.#settings.hide(JSON.stringify(args))
    return text.length > MAX_VALUES_LENGTH ? `"too long: ${text.length}"` : text
  }
}

function upstreamOf(exchange: Exchange | undefined, texts: Texts): string {
  return exchange?.route?.to === 'one' ? `,"upstream":${texts.of(exchange.route.upstream)}` : ''
}

/** The name a client uses; of a URI without what may be a key or a password in it. */
function nameIn(params: Exchange['params']): string | undefined {
  const name = params?.name ?? params?.taskId
  if (typeof name === 'string') return name
  const uri = params?.uri
  if (typeof uri !== 'string') return undefined
  return uri.replace(/[?#].*$/s, '').replace(/^([\w+.-]+:\/\/)[^/@]*@/, '$1')
}

function answerBytes({ answer }: Exchange): string {
  if (answer === undefined || 'error' in answer) return ''
  const payload = 'result' in answer ? answer.result : 'input' in answer ? answer.input : answer.task
  return `,"bytesOut":${payload.bytes().length}`
}

function trace({ params, headers }: Exchange): string {
  const meta = params?._meta
  const parent = (isObject(meta) ? meta.traceparent : undefined) ?? headers.traceparent
  return typeof parent === 'string' && TRACEPARENT.test(parent) ? `,"trace":"${parent}"` : ''
}

interface Budget {
  left: number
}

/** Names, types and lengths of arguments as JSON text, without any value: `{"path":"string(12)","deep":{"n":"number"}}`. */
function shapeOf(args: unknown, texts: Texts): string {
  return shape(args, texts, MAX_DEPTH, { left: MAX_MEMBERS })
}

function shape(value: unknown, texts: Texts, depth: number, budget: Budget): string {
  if (typeof value === 'string') return `"string(${value.length})"`
  if (Array.isArray(value)) return `"array(${value.length})"`
  if (isObject(value)) return depth > 0 ? members(value, texts, depth - 1, budget) : '"object"'
  return value === null ? '"null"' : `"${typeof value}"`
}

function members(value: JsonObject, texts: Texts, depth: number, budget: Budget): string {
  let text = ''
  for (const key in value) {
    if (budget.left-- <= 0) {
      text += `${text === '' ? '' : ','}"…":"more"`
      break
    }
    text += `${text === '' ? '' : ','}${texts.of(key)}:${shape(value[key], texts, depth, budget)}`
  }
  return `{${text}}`
}

/** Texts of peers as JSON strings without secrets. The same few come again and again, so they are written once. */
export class Texts {
  readonly #hide: (text: string) => string
  readonly #known = new BoundedMap<string, string>({ max: MAX_TEXTS })
  readonly #knownJson = new BoundedMap<string, string>({ max: MAX_TEXTS })

  constructor(hide: (text: string) => string) {
    this.#hide = hide
  }

  of(text: string): string {
    return this.#known.get(text) ?? this.#keep(this.#known, text, this.#quoted(text))
  }

  /** The same for what is JSON text already. */
  json(text: string): string {
    return this.#knownJson.get(text) ?? this.#keep(this.#knownJson, text, this.#hide(text))
  }

  #quoted(text: string): string {
    // Hidden before it is cut, or the half of a secret would stay.
    const shown = this.#hide(text)
    return JSON.stringify(shown.length > MAX_LENGTH ? `${shown.slice(0, MAX_LENGTH)}…` : shown)
  }

  #keep(known: BoundedMap<string, string>, text: string, shown: string): string {
    if (text.length > 2 * MAX_LENGTH) return shown
    known.set(text, shown)
    return shown
  }
}
