import { randomBytes } from 'node:crypto'
import { refuse, RPC, type Listener, type Plugin, type Upstream } from 'tapgate/plugin'

// #region configure
/** Sets the timeout of all servers to five seconds. */
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
/** Replaces `type: http` servers whose URL ends in `/empty`. */
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
/** A server without a process and capabilities, always ready. */
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
/** Refuses listeners that are not on loopback. */
export const loopbackOnly: Plugin = {
  name: 'loopback-only',
  setup({ hooks }) {
    hooks.createListener.for('http').tap({ stage: 'trace' }, (spec, { name }): Listener | undefined => {
      if ('host' in spec && spec.host !== '127.0.0.1') throw new Error(`listener "${name}" is not on loopback`)
      return undefined // use the built-in listener
    })
  },
}
// #endregion createListener

// #region peers
/** Gateways with the same key accept each other's cursors and ids. Sessions stay on their gateway. */
export const sameKey: Plugin<{ key: string; place: string }> = {
  name: 'same-key',
  setup({ options: { key, place }, hooks, slot }) {
    const neighbours = slot.gateway(() => ({
      sealing: { keys: [Buffer.from(key, 'hex')], replicaId: place },
      createSessionId: () => `${place}_${randomBytes(24).toString('base64url')}`,
      registerListener: () => undefined,
      findPeer: () => 'here' as const,
    }))
    hooks.services.tap(services => ({ ...services, peers: neighbours }))
  },
}
// #endregion peers

// #region authorize
/** Sends a token from a token service, and requests a new one after a 401. */
export const tokens: Plugin<{ issue(upstream: string): Promise<string> }> = {
  name: 'tokens',
  setup({ options, hooks }) {
    hooks.authorize.tap((_spec, { name }) => {
      let token: Promise<string> | undefined
      const headers = async () => ({ authorization: `Bearer ${await (token ??= options.issue(name))}` })
      return {
        headers,
        refused: async (_request, { status, attempt }) => {
          if (status !== 401 || attempt > 1) return undefined // keep the refusal
          token = undefined
          return headers()
        },
      }
    })
  },
}
// #endregion authorize

// #region dispatch
/** Logs calls that take longer than a second. */
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
