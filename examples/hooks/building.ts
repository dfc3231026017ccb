import { randomBytes } from 'node:crypto'
import { refuse, RPC, type Listener, type Plugin, type Upstream } from 'tapgate/plugin'

// #region configure
/** Gives no server more than five seconds. */
export const fiveSeconds: Plugin = {
  name: 'five-seconds',
  setup({ hooks }) {
    hooks.configure.tap(config => {
      const upstreams = Object.entries(config.upstreams)
      return {
        ...config,
        upstreams: Object.fromEntries(upstreams.map(([name, spec]) => [name, { ...spec, timeout: '5s' }])),
      }
    })
  },
}
// #endregion configure

// #region createUpstream
/** Serves `type: http` servers whose address ends in `/empty` itself. */
export const emptyServers: Plugin = {
  name: 'empty-servers',
  setup({ hooks }) {
    hooks.createUpstream
      .for('http')
      .tap({ stage: 'trace' }, (spec, { name }) =>
        'url' in spec && spec.url.endsWith('/empty') ? emptyServer(name, spec) : undefined,
      )
  },
}
// #endregion createUpstream

// #region upstream
/** A server that is no process, offers nothing and is always ready. */
function emptyServer(name: string, spec: Upstream['spec']): Upstream {
  const info = { name, version: '1' }
  return {
    name,
    spec,
    state: 'ready',
    problem: undefined,
    pid: undefined,
    server: { era: 'modern', version: '2026-07-28', info, capabilities: {}, instructions: undefined },
    dispatch: call => Promise.resolve(refuse(RPC.methodNotFound, `${call.method} is not here`)),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  }
}
// #endregion upstream

// #region createListener
/** Lets no listener open beyond this machine. */
export const loopbackOnly: Plugin = {
  name: 'loopback-only',
  setup({ hooks }) {
    hooks.createListener.for('http').tap({ stage: 'trace' }, (spec, { name }): Listener | undefined => {
      if ('host' in spec && spec.host !== '127.0.0.1') throw new Error(`listener "${name}" is not on loopback`)
      return undefined // the gateway makes it
    })
  },
}
// #endregion createListener

// #region starting
/** Lets no server run that is not installed on this machine. */
export const installedOnly: Plugin = {
  name: 'installed-only',
  setup({ hooks }) {
    hooks.starting.tap(({ spec }) =>
      spec.type === 'stdio' && spec.command === 'npx' ? 'npx may fetch what nobody has seen' : undefined,
    )
  },
}
// #endregion starting

// #region peers
/** Has gateways with the same key open the cursors and ids of each other. Conversations stay where they began. */
export const sameKey: Plugin<{ key: string; place: string }> = {
  name: 'same-key',
  setup({ options: { key, place }, hooks, slot }) {
    const neighbours = slot.gateway(() => ({
      sealing: { keys: [Buffer.from(key, 'hex')], replicaId: place },
      createSessionId: () => `${place}_${randomBytes(24).toString('base64url')}`,
      registerListener: () => undefined,
      findPeer: () => 'here' as const,
    }))
    hooks.peers.tap(() => neighbours)
  },
}
// #endregion peers

// #region authorize
/** Signs requests with a token of a token service, and asks for another one when a server refuses it. */
export const tokens: Plugin<{ issue(upstream: string): Promise<string> }> = {
  name: 'tokens',
  setup({ options, hooks }) {
    hooks.authorize.tap((_spec, { name }) => {
      let token: Promise<string> | undefined
      const headers = async () => ({ authorization: `Bearer ${await (token ??= options.issue(name))}` })
      return {
        headers,
        refused: async (_request, { status, attempt }) => {
          if (status !== 401 || attempt > 1) return undefined // its refusal stands
          token = undefined
          return headers()
        },
      }
    })
  },
}
// #endregion authorize

// #region dispatch
/** Logs each call of a server that takes longer than a second. */
export const slowCalls: Plugin<{ overMs?: number }> = {
  name: 'slow-calls',
  setup({ options, hooks, log, clock }) {
    hooks.dispatch.tap((next, upstream) => async call => {
      const began = clock.now()
      const reply = await next(call)
      const ms = clock.now() - began
      if (ms > (options?.overMs ?? 1000)) log.warn('a slow call', { upstream: upstream.name, method: call.method, ms })
      return reply
    })
  },
}
// #endregion dispatch
