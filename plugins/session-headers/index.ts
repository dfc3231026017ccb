import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { Config, Plugin, Report, Session } from '../../src/plugin.ts'
import {
  conversationKey,
  checkKnownName,
  isObject,
  readList,
  readMap,
  METHODS,
  principalKey,
  readText,
} from '../../src/plugin.ts'

/** Upstream types without headers per request. */
const HEADERLESS: ReadonlyMap<string, string> = new Map([
  ['stdio', 'is a local process'],
  ['ws', 'shares one WebSocket between sessions'],
])

/** Checks that the upstreams exist and support headers. */
function checkSessionHeaders(config: unknown, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  const names = Object.keys(upstreams)
  readList(config, 'sessionHeaders', 'upstreams').forEach((name, i) => {
    const pointer = `/sessionHeaders/upstreams/${i}`
    if (typeof name !== 'string' || !checkKnownName(name, { what: 'upstream', names }, pointer, report)) return
    const reason = isObject(upstreams[name]) ? HEADERLESS.get(readText(upstreams, name, 'type') ?? '') : undefined
    if (reason === undefined) return
    const message = `upstream "${name}" ${reason} and has no request headers`
    report({ pointer, message, hint: 'list HTTP upstreams only', severity: 'warning' })
  })
}

/** Sends the client session id to the listed upstreams in a header. */
export const sessionHeaders: Plugin<NonNullable<Config['sessionHeaders']>> = {
  name: 'session-headers',
  claims: { section: 'sessionHeaders' },
  check: checkSessionHeaders,
  setup({ options, hooks, slot }) {
    const header = options.header.toLowerCase()
    const own = new Set(options.upstreams)
    /** Secrets for hashing conversation labels by upstream, so that ids survive a reload. */
    const secrets = slot.gateway(() => new Map<string, Buffer>())
    // Created by the first call that needs it.
    const identity = slot.session(() => `client-${randomUUID()}`)

    hooks.call.tap(call => {
      if (!own.has(call.upstream)) return
      const secret = secrets.get(call.upstream) ?? randomBytes(32)
      secrets.set(call.upstream, secret)
      const { session } = call.exchange
      // The label stays private: the upstream gets a hash.
      call.headers[header] = getConversationId(session, call.method, secret)
    })
    const getConversationId = (session: Session, method: string, secret: Buffer): string => {
      if (session.label !== undefined) return hashToId(conversationKey(session), secret)
      // Modern lists belong to no conversation: use one id per caller.
      const isList = session.client.era === 'modern' && METHODS.get(method)?.to === 'list'
      return isList ? hashToId(`lists ${principalKey(session.principal)}`, secret) : identity.get(session)
    }
    hooks.explain.tap((steps, { call }) => {
      if (call === undefined || !own.has(call.upstream)) return undefined
      const text = `adds the header ${header} with the session id`
      return [...steps, { by: 'session-headers', at: 'call', does: 'changes', text, facts: { headers: [header] } }]
    })
  },
}

/** Derives a stable id from a label and principal; not guessable without the secret. */
function hashToId(key: string, secret: Buffer): string {
  const bytes = createHmac('sha256', secret).update(key).digest().subarray(0, 16)
  // UUID version 8, variant 10 (RFC 9562).
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `client-${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`
}
