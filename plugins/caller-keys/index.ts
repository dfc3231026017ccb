import {
  type Authorizer,
  callers,
  type Config,
  type Plugin,
  type Principal,
  type UpstreamConfig,
} from '../../src/plugin.ts'
import { check } from './check.ts'
import { callerKeyError, ERRORS } from './errors.ts'

type Entries = NonNullable<Extract<UpstreamConfig, { readonly callers?: unknown }>['callers']>

/** Puts a key of their own on the requests of each caller. */
export const callerKeys: Plugin = {
  name: 'caller-keys',
  claims: { upstream: ['callers'], makesUpstreams: true },
  errors: ERRORS,
  check,
  setup({ config, hooks }) {
    hooks.configure.tap(withCallersApart)
    hooks.authorize.tap((spec, { name }) => {
      const entries = entriesOf(spec)
      return entries === undefined ? undefined : authorizerOf(name, entries, config.auth)
    })
  },
}

function entriesOf(spec: UpstreamConfig): Entries | undefined {
  return 'callers' in spec ? spec.callers : undefined
}

function authorizerOf(upstream: string, entries: Entries, auth: Config['auth']): Authorizer {
  const prepared = entries.map(({ principals, headers, query }) => ({
    fits: callers(principals, auth),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    query,
  }))
  const entryOf = (account: string | undefined) => prepared[Number(account)]
  return {
    // Callers of one entry are one to the server.
    accountOf: (principal: Principal) => {
      const index = prepared.findIndex(({ fits }) => fits(principal))
      if (index < 0) throw callerKeyError('GW_CALLER_KEY', { upstream })
      return String(index)
    },
    headers: ({ account }) => entryOf(account)?.headers ?? {},
    query: account => entryOf(account)?.query ?? {},
    // A refusal of a key that stands in the configuration stands.
    refused: () => Promise.resolve(undefined),
  }
}

/** Keeps sessions and answers of callers apart as well: what a server says to one key is no other caller's. */
function withCallersApart(config: Config): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, spec]) => {
    const isShared = entriesOf(spec) !== undefined && spec.isolation === 'shared'
    return [name, isShared ? { ...spec, isolation: 'principal' as const } : spec] as const
  })
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}
