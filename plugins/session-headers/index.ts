import { randomUUID } from 'node:crypto'
import type { Config, Plugin } from '../../src/plugin.ts'

/** Tells the listed upstreams which client session a request belongs to, so that they can keep sessions apart. */
export const sessionHeaders: Plugin<NonNullable<Config['sessionHeaders']>> = {
  name: 'session-headers',
  claims: { section: 'sessionHeaders' },
  setup({ options, hooks, slot }) {
    const header = options.header.toLowerCase()
    const upstreams = new Set(options.upstreams)
    // Minted by the first call that needs it; a session that never reaches such an upstream costs nothing.
    const identity = slot.session(() => `client-${randomUUID()}`)

    hooks.call.tap(call => {
      if (upstreams.has(call.upstream)) call.headers[header] = identity.get(call.exchange.session)
    })
  },
}
