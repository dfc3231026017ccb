// Generated from schemas/gateway.json by `npm run gen`. Do not edit.

/** Values that are never shown. */
export const SECRET_PATHS: ReadonlySet<string> = new Set(['/upstreams/*/env/*', '/upstreams/*/headers/*'])

/** Values that may be a number. */
export const NUMBER_PATHS: ReadonlySet<string> = new Set([
  '/cache/lists',
  '/cache/lists/staleIfError',
  '/cache/lists/staleWhileRevalidate',
  '/cache/lists/ttl',
  '/cache/maxBytes',
  '/cache/maxEntries',
  '/cache/negative',
  '/cache/prompts',
  '/cache/prompts/staleIfError',
  '/cache/prompts/staleWhileRevalidate',
  '/cache/prompts/ttl',
  '/cache/resources',
  '/cache/resources/staleIfError',
  '/cache/resources/staleWhileRevalidate',
  '/cache/resources/ttl',
  '/cache/tools/*',
  '/cache/tools/*/staleIfError',
  '/cache/tools/*/staleWhileRevalidate',
  '/cache/tools/*/ttl',
  '/listeners/*/limits/body',
  '/listeners/*/limits/connections',
  '/listeners/*/limits/idle',
  '/listeners/*/limits/sessions',
  '/listeners/*/port',
  '/lists/grace',
  '/lists/pageSize',
  '/shutdown/grace',
  '/upstreams/*/cache/lists',
  '/upstreams/*/cache/lists/staleIfError',
  '/upstreams/*/cache/lists/staleWhileRevalidate',
  '/upstreams/*/cache/lists/ttl',
  '/upstreams/*/cache/prompts',
  '/upstreams/*/cache/prompts/staleIfError',
  '/upstreams/*/cache/prompts/staleWhileRevalidate',
  '/upstreams/*/cache/prompts/ttl',
  '/upstreams/*/cache/resources',
  '/upstreams/*/cache/resources/staleIfError',
  '/upstreams/*/cache/resources/staleWhileRevalidate',
  '/upstreams/*/cache/resources/ttl',
  '/upstreams/*/cache/tools/*',
  '/upstreams/*/cache/tools/*/staleIfError',
  '/upstreams/*/cache/tools/*/staleWhileRevalidate',
  '/upstreams/*/cache/tools/*/ttl',
  '/upstreams/*/maxLine',
  '/upstreams/*/maxReply',
  '/upstreams/*/startupTimeout',
  '/upstreams/*/timeout',
  '/upstreams/*/tools/timeout/*',
  '/version',
])

/** Values that may be true or false. */
export const BOOLEAN_PATHS: ReadonlySet<string> = new Set([
  '/cache',
  '/cache/meta',
  '/listeners/*/exposeWithoutAuth',
  '/listeners/*/sse',
  '/listeners/*/ws',
  '/plugins/*/enabled',
  '/upstreams/*/cache',
  '/upstreams/*/enabled',
])

/** What `type` may be. */
export const TYPES: Readonly<Record<string, readonly string[]>> = {
  '/listeners/*': ['http', 'stdio'],
  '/upstreams/*': ['stdio', 'http', 'sse', 'ws'],
}
