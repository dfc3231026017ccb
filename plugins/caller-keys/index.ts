import type { Authorizer, Config, Plugin, Principal, Report, UpstreamConfig } from '../../src/plugin.ts'
import {
  compileCallers,
  defineErrors,
  readList,
  readMap,
  appendPointer,
  RPC,
  readValue,
} from '../../src/plugin.ts'

/** Errors of keys for each caller. */
const ERRORS = {
  GW_CALLER_KEY: {
    text: 'upstream "{upstream}" has no key for this caller',
    hint: 'Add an entry for the caller under "callers" of the upstream; principals: "*" is everybody else.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

const callerKeyError = defineErrors(ERRORS)

type CallerEntries = NonNullable<Extract<UpstreamConfig, { readonly callers?: unknown }>['callers']>

/** Puts a key of their own on the requests of each caller. */
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
    // Callers of one entry are one to the server.
    accountOf: (principal: Principal) => {
      const index = prepared.findIndex(({ fits }) => fits(principal))
      if (index < 0) throw callerKeyError('GW_CALLER_KEY', { upstream })
      return String(index)
    },
    headers: ({ account }) => findEntry(account)?.headers ?? {},
    query: account => findEntry(account)?.query ?? {},
    // A refusal of a key that stands in the configuration stands.
    refused: () => Promise.resolve(undefined),
  }
}

/** Keeps sessions and answers of callers apart as well: what a server says to one key is no other caller's. */
function isolateCallers(config: Config): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, spec]) => {
    const isShared = getEntries(spec) !== undefined && spec.isolation === 'shared'
    return [name, isShared ? { ...spec, isolation: 'principal' as const } : spec] as const
  })
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}

/** A caller needs a name, and a request one who puts credentials on it. */
function check(config: unknown, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    if (readList(upstreams, name, 'callers').length === 0) continue
    const pointer = `${appendPointer('/upstreams', name)}/callers`
    if (readValue(upstreams, name, 'oauth') !== undefined)
      report({
        pointer,
        on: 'key',
        message: '"oauth" says already what the requests of a caller carry',
        hint: 'take one of them out',
      })
    else if (readValue(config, 'auth') === undefined && Object.keys(readMap(config, 'plugins')).length === 0)
      report({ pointer, on: 'key', message: 'without "auth" nobody knows who a caller is', hint: 'add auth' })
  }
}
