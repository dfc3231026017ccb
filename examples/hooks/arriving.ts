import { RPC, type Plugin } from 'tapgate/plugin'

// #region services
/** Rejects all requests outside opening hours. */
export const closedAtNight: Plugin<{ isOpen(): boolean }> = {
  name: 'closed-at-night',
  setup({ options, hooks }) {
    const refusal = {
      status: 503,
      error: { code: RPC.internal, message: 'closed' },
      headers: { 'retry-after': '3600' },
    }
    hooks.services.tap(({ admission, ...services }) => ({
      ...services,
      admission: {
        ...admission,
        admit: (...request) => (options.isOpen() ? admission?.admit(...request) : refusal),
      },
    }))
  },
}
// #endregion services

// #region authenticate
/** Authenticates callers by a bearer token. */
export const byToken: Plugin<{ tokens: Record<string, string> }> = {
  name: 'by-token',
  setup({ options, hooks }) {
    const error = { code: RPC.invalidRequest, message: 'authentication required' }
    const subjects = new Map(Object.entries(options.tokens))
    hooks.authenticate.tap(({ header }) => {
      const [, token = ''] = /^Bearer (\S+)$/.exec(header('authorization')[0] ?? '') ?? []
      const subject = subjects.get(token)
      if (subject === undefined) return { status: 401, error }
      return { issuer: 'by-token', client: '', subject, scopes: [] }
    })
  },
}
// #endregion authenticate

// #region http
/** Adds the path `GET /version`. */
export const versionPage: Plugin = {
  name: 'version-page',
  setup({ hooks }) {
    hooks.http
      .for('/version')
      .tap(({ method }) =>
        method === 'GET'
          ? { status: 200, headers: { 'content-type': 'text/plain' }, body: '1.0.0\n' }
          : { status: 405 },
      )
  },
}
// #endregion http

// #region session
/** Accepts only known clients. */
export const knownClients: Plugin<{ names: string[] }> = {
  name: 'known-clients',
  setup({ options, hooks }) {
    hooks.session.tap(({ client }) => {
      if (!options.names.includes(client.info.name)) throw new Error(`unknown client ${client.info.name}`)
    })
  },
}
// #endregion session

// #region onEnd
/** Logs the number of requests per session. */
export const sessionLength: Plugin = {
  name: 'session-length',
  setup({ hooks, log, slot }) {
    const requests = slot.session(() => ({ count: 0 }))
    hooks.request.tap(({ session }) => void requests.get(session).count++)
    hooks.session.tap(session =>
      session.onEnd(reason => log.info('a session ended', { requests: requests.get(session).count, reason })),
    )
  },
}
// #endregion onEnd
