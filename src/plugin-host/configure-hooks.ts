import type { Config, Feature, UpstreamConfig } from '../config/index.ts'
import { parseConfig } from '../config/index.ts'
import type { Hooks } from '../hooks/hooks.ts'

/** Upstream types in the schema; all others belong to plugins. */
const CORE_TYPES: ReadonlySet<string> = new Set(['stdio', 'http', 'sse', 'ws'])
/** Defaults for an upstream type that is not in the schema: no limits unless configured. */
const UPSTREAM_DEFAULTS = {
  enabled: true,
  onFailure: 'omit',
  start: 'auto',
  isolation: 'shared',
  timeout: 0,
  limits: { concurrency: 0, queue: 0, queueTimeout: 0 },
  breaker: false,
  retry: false,
}

/**
 * Adds the changes of plugins by the `configure` hook. New and changed listeners and upstreams are validated and get
 * the same defaults as in a file.
 * @throws GatewayError GW_CONFIG_INVALID
 */
export function applyConfigureHooks(
  written: Config,
  hooks: Hooks,
  directory: string,
  features: readonly Feature[],
): Config {
  const config = hooks.getRunner('configure')?.(written) ?? written
  if (config === written) return written
  const listeners = omitFields(config.listeners, written.listeners)
  const upstreams = omitFields(config.upstreams, written.upstreams)
  const described = upstreams.filter(([, { type }]) => CORE_TYPES.has(type))
  const own = upstreams.filter(([, { type }]) => !CORE_TYPES.has(type))
  const added = parseConfig(
    {
      version: 1,
      ...getAuthConfig(config),
      listeners: Object.fromEntries(listeners),
      upstreams: Object.fromEntries(described),
    },
    { directory, features },
  ).config
  const completed = own.map(([name, spec]) => [
    name,
    Object.freeze({ ...UPSTREAM_DEFAULTS, ...spec }) as UpstreamConfig,
  ])
  return Object.freeze({
    ...config,
    listeners: Object.freeze({ ...config.listeners, ...added.listeners }),
    upstreams: Object.freeze({
      ...config.upstreams,
      ...added.upstreams,
      ...(Object.fromEntries(completed) as Config['upstreams']),
    }),
  })
}

/** Caller identities for caller checks, without listeners and upstreams, which are not checked here. */
function getAuthConfig({ auth }: Config): Pick<Config, 'auth'> {
  if (auth === undefined) return {}
  const { listeners: _, ...authWithoutListeners } = auth
  return { auth: { ...authWithoutListeners, rules: [], except: [] } }
}

function omitFields<T>(now: Readonly<Record<string, T>>, before: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(now).filter(([name, spec]) => before[name] !== spec)
}
