import { activity } from '../../plugins/activity/index.ts'
import { agents } from '../../plugins/agents/index.ts'
import { approve } from '../../plugins/approve/index.ts'
import { audit } from '../../plugins/audit/index.ts'
import { auth } from '../../plugins/auth/index.ts'
import { callerKeys } from '../../plugins/caller-keys/index.ts'
import { cluster } from '../../plugins/cluster/index.ts'
import { cache } from '../../plugins/cache/index.ts'
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
import { ERRORS } from '../errors/errors.ts'
import type { HealthTable } from '../errors/health.ts'
import { HEALTH } from '../errors/health.ts'

/** The first-party plugins, in the order of their set-up. Of two that wrap `dispatch`, the first is the outer one. */
export const builtins: readonly Plugin<never>[] = [
  listenHttp,
  listenStdio,
  listenSocket,
  callStdio,
  callHttp,
  callSse,
  callWs,
  openApi,
  // Early: what others have is handed on before anybody here looks at it.
  cluster,
  overload,
  oauth,
  callerKeys,
  // Before all that looks at calls: what a call carries in its arguments is the call that they see.
  surface,
  // First, so that whatever is refused was seen.
  audit,
  tracing,
  activity,
  metrics,
  ui,
  // Ahead of what renames and hides: what it judges is what the servers said.
  pins,
  routing,
  toolFilter,
  // After what renames, as its rules are about the names that clients see.
  auth,
  // After the filters, whose names it speaks of.
  profiles,
  // After the profiles: of what a caller sees, its agents see a part.
  agents,
  sessionHeaders,
  forwardHeaders,
  rest,
  // Ahead of what redacts: answers take the way back, and what is kept of them is redacted already.
  shape,
  // After whatever names things, and outside all that answers in a server's place: who may not call is told so by nothing else.
  policy,
  approve,
  // Inside of that, as policies are about arguments as they came; outside the cache, which keeps by what was sent.
  redact,
  // Outside the cache: who is refused must not be refused in another's place.
  rateLimit,
  // Outside the deadline, so that a hit needs no timer.
  cache,
  resilience,
  fit,
]

/** Every error of the gateway, of our plugins, and of the others given, by its code. */
export function mergeErrorTables(others: readonly Plugin<never>[] = []): ErrorTable {
  const tables = [...builtins, ...others].map(({ errors }) => errors ?? {})
  return Object.assign({}, ERRORS, ...tables) as ErrorTable
}

/** Every finding of the gateway, of our plugins, and of the others given, by its code. */
export function mergeFindingTables(others: readonly Plugin<never>[] = []): HealthTable {
  const tables = [...builtins, ...others].map(({ health }) => health ?? {})
  return Object.assign({}, HEALTH, ...tables) as HealthTable
}
