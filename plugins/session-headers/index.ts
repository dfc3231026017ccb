import { randomBytes, randomUUID } from 'node:crypto'
import type { Config, Plugin, Upstream } from '../../src/plugin.ts'
import { identityOf } from './identity.ts'

/** What the identities of labelled conversations are made with. An upstream outlives a configuration that says nothing new of it. */
const secrets = new WeakMap<Upstream, Buffer>()

/** Tells the listed upstreams which client session a request belongs to, so that they can keep sessions apart. */
export const sessionHeaders: Plugin<NonNullable<Config['sessionHeaders']>> = {
  name: 'session-headers',
  claims: { section: 'sessionHeaders' },
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
      // What the caller calls it stays here: an upstream learns a name of our own.
      call.headers[header] = session.label === undefined ? identity.get(session) : identityOf(session, secret)
    })
  },
}
