// Generated from schemas/gateway.json by `npm run gen`. Do not edit.

/** Values that are never shown. */
export const SECRET_PATHS: ReadonlySet<string> = new Set(['/upstreams/*/env/*', '/upstreams/*/headers/*'])

/** Values that may be a number. */
export const NUMBER_PATHS: ReadonlySet<string> = new Set([
  '/cache/lists',
  '/listeners/*/limits/body',
  '/listeners/*/limits/connections',
  '/listeners/*/limits/idle',
  '/listeners/*/limits/sessions',
  '/listeners/*/limits/sessionsPerPrincipal',
  '/listeners/*/port',
  '/lists/grace',
  '/lists/pageSize',
  '/lists/wait',
  '/shutdown/grace',
  '/upstreams/*/breaker/calls',
  '/upstreams/*/breaker/failures',
  '/upstreams/*/breaker/latency',
  '/upstreams/*/breaker/open',
  '/upstreams/*/breaker/share',
  '/upstreams/*/breaker/window',
  '/upstreams/*/ceilings/cpuTime',
  '/upstreams/*/ceilings/fileSize',
  '/upstreams/*/ceilings/files',
  '/upstreams/*/ceilings/memory',
  '/upstreams/*/ceilings/pids',
  '/upstreams/*/limits/concurrency',
  '/upstreams/*/limits/queue',
  '/upstreams/*/limits/queueTimeout',
  '/upstreams/*/maxLine',
  '/upstreams/*/maxReply',
  '/upstreams/*/retry/attempts',
  '/upstreams/*/retry/backoff',
  '/upstreams/*/startupTimeout',
  '/upstreams/*/timeout',
  '/upstreams/*/tools/timeout/*',
  '/version',
])

/** Values that may be true or false. */
export const BOOLEAN_PATHS: ReadonlySet<string> = new Set([
  '/cache',
  '/listeners/*/exposeWithoutAuth',
  '/listeners/*/sse',
  '/listeners/*/ws',
  '/plugins/*/enabled',
  '/upstreams/*/breaker',
  '/upstreams/*/enabled',
  '/upstreams/*/retry',
  '/upstreams/*/sandbox/network',
])

/** What `type` may be. */
export const TYPES: Readonly<Record<string, readonly string[]>> = {
  '/listeners/*': ['http', 'stdio'],
  '/upstreams/*': ['stdio', 'http', 'sse', 'ws'],
}
