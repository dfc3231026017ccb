import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { Config, Plugin, Report, Session, Upstream } from '../../src/plugin.ts'
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

/** Types of upstream whose requests have no headers of their own. */
const HEADERLESS: ReadonlyMap<string, string> = new Map([
  ['stdio', 'is a local process'],
  ['ws', 'has one WebSocket for many sessions'],
])

/** Upstreams that are named must exist, and have headers. */
function check(config: unknown, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  const names = Object.keys(upstreams)
  readList(config, 'sessionHeaders', 'upstreams').forEach((name, i) => {
    const pointer = `/sessionHeaders/upstreams/${i}`
    if (typeof name !== 'string' || !checkKnownName(name, { what: 'upstream', names }, pointer, report))
      return
    const why = isObject(upstreams[name])
      ? HEADERLESS.get(readText(upstreams, name, 'type') ?? '')
      : undefined
    if (why === undefined) return
    const message = `upstream "${name}" ${why} and gets no headers`
    report({ pointer, message, hint: 'name HTTP upstreams only', severity: 'warning' })
  })
}

/** Secrets that identities of labelled conversations are made with. An upstream outlives a configuration that says nothing new of it. */
const secrets = new WeakMap<Upstream, Buffer>()

/** Tells the listed upstreams which client session a request belongs to, so that they can keep sessions apart. */
export const sessionHeaders: Plugin<NonNullable<Config['sessionHeaders']>> = {
  name: 'session-headers',
  claims: { section: 'sessionHeaders' },
  check,
  setup({ options, hooks, slot }) {
    const header = options.header.toLowerCase()
    const own = new Map<string, Buffer>(options.upstreams.map(name => [name, randomBytes(32)] as const))
    // Minted by the first call that needs it; a session that never reaches such an upstream costs nothing.
    const identity = slot.session(() => `client-${randomUUID()}`)

    hooks.dispatch.tap((_next, upstream) => {
      const secret = own.get(upstream.name)
      if (secret === undefined) return
      const before = secrets.get(upstream)
      if (before === undefined) secrets.set(upstream, secret)
      else own.set(upstream.name, before)
    })
    hooks.call.tap(call => {
      const secret = own.get(call.upstream)
      if (secret === undefined) return
      const { session } = call.exchange
      // The caller's own name for the session stays here: an upstream learns a name of ours.
      call.headers[header] = nameOf(session, call.method, secret)
    })
    const nameOf = (session: Session, method: string, secret: Buffer): string => {
      if (session.label !== undefined) return identityOf(conversationKey(session), secret)
      // A modern request is a session of its own, and lists are of no conversation: one name for all lists of a caller.
      const isList = session.client.era === 'modern' && METHODS.get(method)?.to === 'list'
      return isList ? identityOf(`lists ${principalKey(session.principal)}`, secret) : identity.get(session)
    }
    hooks.explain.tap((steps, { call }) => {
      if (call === undefined || !own.has(call.upstream)) return undefined
      const text = `${header} names the conversation of the caller`
      return [
        ...steps,
        { by: 'session-headers', at: 'call', does: 'changes', text, facts: { headers: [header] } },
      ]
    })
  },
}

/** The same name for all requests of one label of one principal, without a table of them. Nobody without the secret can guess it. */
function identityOf(key: string, secret: Buffer): string {
  const bytes = createHmac('sha256', secret).update(key).digest().subarray(0, 16)
  // Version 8, variant 10: a UUID of our own making (RFC 9562).
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `client-${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`
}
