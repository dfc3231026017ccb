import { activity } from '../../plugins/activity/index.ts'
import { agents } from '../../plugins/agents/index.ts'
import { apps } from '../../plugins/apps/index.ts'
import { approve } from '../../plugins/approve/index.ts'
import { audit } from '../../plugins/audit/index.ts'
import { auth } from '../../plugins/auth/index.ts'
import { callerKeys } from '../../plugins/caller-keys/index.ts'
import { cluster } from '../../plugins/cluster/index.ts'
import { cache } from '../../plugins/cache/index.ts'
import { discovery } from '../../plugins/discovery/index.ts'
import { fit } from '../../plugins/fit/index.ts'
import { forwardHeaders } from '../../plugins/forward-headers/index.ts'
import { oauth } from '../../plugins/oauth/index.ts'
import { openApi } from '../../plugins/openapi/index.ts'
import { overload } from '../../plugins/overload/index.ts'
import { metrics } from '../../plugins/metrics/index.ts'
import { policy } from '../../plugins/policy/index.ts'
import { pins } from '../../plugins/pins/index.ts'
import { profiles } from '../../plugins/profiles/index.ts'
import { rateLimit } from '../../plugins/rate-limit/index.ts'
import { redact } from '../../plugins/redact/index.ts'
import { resilience } from '../../plugins/resilience/index.ts'
import { rest } from '../../plugins/rest/index.ts'
import { routing } from '../../plugins/routing/index.ts'
import { shape } from '../../plugins/shape/index.ts'
import { sessionHeaders } from '../../plugins/session-headers/index.ts'
import { skills } from '../../plugins/skills/index.ts'
import { surface } from '../../plugins/surface/index.ts'
import { toolFilter } from '../../plugins/tool-filter/index.ts'
import { tracing } from '../../plugins/tracing/index.ts'
import { ui } from '../../plugins/ui/index.ts'
import type { Plugin } from '../plugin.ts'
import { callHttp, callSse, callWs } from '../upstreams/remote-upstreams.ts'
import { callStdio } from '../upstreams/stdio/stdio-upstream.ts'
import { listenHttp } from '../listeners/http/http-listener.ts'
import { listenSocket } from '../listeners/socket/socket-listener.ts'
import { listenStdio } from '../listeners/stdio/stdio-listener.ts'
import type { ErrorTable } from '../errors/errors.ts'
import { addErrors, ERRORS } from '../errors/errors.ts'
import type { HealthTable } from '../errors/health.ts'
import { HEALTH } from '../errors/health.ts'

/** The built-in plugins in setup order. The first of two that wrap `dispatch` is the outer one. */
export const builtins: readonly Plugin<never>[] = [
  listenHttp,
  listenStdio,
  listenSocket,
  callStdio,
  callHttp,
  callSse,
  callWs,
  openApi,
  // Early: handles requests of peer processes before local plugins see them.
  cluster,
  overload,
  oauth,
  callerKeys,
  // Before all plugins that inspect calls: unwraps calls from tool arguments.
  surface,
  // Before all plugins that reject calls, so that rejected calls are recorded.
  audit,
  tracing,
  activity,
  metrics,
  ui,
  // Before renaming and hiding: compares the servers' own descriptions.
  pins,
  routing,
  toolFilter,
  // After renaming: rules match the names that clients see.
  auth,
  // After the filters, because it uses their names.
  profiles,
  // After the profiles: agents see a subset of the caller's view.
  agents,
  sessionHeaders,
  forwardHeaders,
  rest,
  discovery,
  skills,
  apps,
  // Before redaction in call order: answers pass in reverse, so it stores redacted results.
  shape,
  // After renaming, and outside all plugins that answer for a server: only policies reject unauthorized calls.
  policy,
  approve,
  // Inside policies, which match the original arguments; outside the cache, whose keys use the sent arguments.
  redact,
  // Outside the cache: a rejected call must not be rejected through another caller's entry.
  rateLimit,
  // Outside the deadline, so that a cache hit needs no timer.
  cache,
  resilience,
  fit,
]

// Here, as commands also report the errors of a gateway that runs elsewhere.
for (const { errors = {} } of builtins) addErrors(errors)

/** Merges all error tables by code: the gateway's, its plugins' and the given ones. */
export function mergeErrorTables(extraPlugins: readonly Plugin<never>[] = []): ErrorTable {
  const tables = [...builtins, ...extraPlugins].map(({ errors }) => errors ?? {})
  return Object.assign({}, ERRORS, ...tables) as ErrorTable
}

/** Merges all findings by code: the gateway's, its plugins' and the given ones. */
export function mergeFindingTables(extraPlugins: readonly Plugin<never>[] = []): HealthTable {
  const tables = [...builtins, ...extraPlugins].map(({ health }) => health ?? {})
  return Object.assign({}, HEALTH, ...tables) as HealthTable
}
