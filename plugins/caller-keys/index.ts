import type { Authorizer, Config, Plugin, Principal, Report, UpstreamConfig } from '../../src/plugin.ts'
import { compileCallers, defineErrors, readList, readMap, appendPointer, RPC, readValue } from '../../src/plugin.ts'

const ERRORS = {
  GW_CALLER_KEY: {
    text: 'upstream "{upstream}" has no credentials for this caller',
    hint: 'Add an entry for the caller under "callers" of the upstream; principals: "*" matches everyone else.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

const callerKeyError = defineErrors(ERRORS)

type CallerEntries = NonNullable<Extract<UpstreamConfig, { readonly callers?: unknown }>['callers']>

/** Adds individual credentials to each caller's upstream requests. */
export const callerKeys: Plugin = {
  name: 'caller-keys',
  claims: { upstream: ['callers'], makesUpstreams: true },
  errors: ERRORS,
  check,
  setup({ config, hooks }) {
    hooks.configure.tap(isolateCallers)
    hooks.authorize.tap((spec, { name }) => {
      const entries = getEntries(spec)
      return entries === undefined ? undefined : createAuthorizer(name, entries, config.auth)
    })
  },
}

function getEntries(spec: UpstreamConfig): CallerEntries | undefined {
  return 'callers' in spec ? spec.callers : undefined
}

function createAuthorizer(upstream: string, entries: CallerEntries, auth: Config['auth']): Authorizer {
  const prepared = entries.map(({ principals, headers, query }) => ({
    fits: compileCallers(principals, auth),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    query,
  }))
  const findEntry = (account: string | undefined) => prepared[Number(account)]
  return {
    // Callers with the same entry share a connection.
    getAccount: (principal: Principal) => {
      const index = prepared.findIndex(({ fits }) => fits(principal))
      if (index < 0) throw callerKeyError('GW_CALLER_KEY', { upstream })
      return String(index)
    },
    headers: ({ account }) => findEntry(account)?.headers ?? {},
    query: account => findEntry(account)?.query ?? {},
    // A configured key cannot be refreshed after a rejection.
    refused: () => Promise.resolve(undefined),
  }
}

/** Separates sessions and answers by caller, because a server may answer each key differently. */
function isolateCallers(config: Config): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, spec]) => {
    const isShared = getEntries(spec) !== undefined && spec.isolation === 'shared'
    return [name, isShared ? { ...spec, isolation: 'principal' as const } : spec] as const
  })
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}

/** Checks that callers are authenticated and that credentials can be sent. */
function check(config: unknown, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    if (readList(upstreams, name, 'callers').length === 0) continue
    const pointer = `${appendPointer('/upstreams', name)}/callers`
    if (readValue(upstreams, name, 'oauth') !== undefined)
      report({
        pointer,
        on: 'key',
        message: '"oauth" already provides credentials for each caller',
        hint: 'remove one of them',
      })
    else if (readValue(config, 'auth') === undefined && Object.keys(readMap(config, 'plugins')).length === 0)
      report({ pointer, on: 'key', message: 'callers are unknown without "auth"', hint: 'add auth' })
  }
}
