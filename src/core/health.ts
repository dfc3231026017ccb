import type { Upstream, UpstreamStatus } from '../api/index.ts'
import { ANONYMOUS } from '../api/principal.ts'
import type { GatewayError } from '../errors/errors.ts'
import { fillTemplate, getOwnerProblem, getErrorMessage } from '../errors/errors.ts'
import type { Health, HealthFinding, HealthLevel } from '../errors/health.ts'
import { finding, summarizeFindings, LEVELS } from '../errors/health.ts'
import { isObject } from '../protocol/json/json.ts'
import { toOneLine, sanitizeText } from '../util/plain-text.ts'
import { redactValue } from '../util/secrets.ts'
import type { Graph } from './graph-types.ts'

/** Recent restarts from which a finding is reported. */
const MIN_RESTARTS = 5
const LONG_AGO_MS = 600_000
/** Maximum findings, so that a plugin cannot fill a page. */
const MAX_COUNT = 1000

/**
 * Health of a running gateway: findings of the core, `standing` findings, and those that plugins add by the `health`
 * hook.
 */
export function computeHealth(graph: Graph, standing: readonly HealthFinding[] = []): Health {
  const nodes = [...graph.upstreams.values()]
  const own = nodes.flatMap(({ upstream }) => describeUpstream(upstream, graph))
  const empty = nodes.length === 0 ? [finding('no-upstreams', { config: 'the configuration' })] : []
  const hidden = findHiddenTools(graph)
  const all = addPluginFindings([...standing, ...empty, ...own, ...hidden, ...listFailures(graph)], graph)
  return summarizeFindings(redactValue(all.slice(0, MAX_COUNT), graph.hide).map(removeControlCharacters))
}

/** Recent errors of plugins, except those in the hook `health`, which have their own finding. */
function listFailures({ hooks }: Graph): HealthFinding[] {
  const others = [...hooks.failures.values()].filter(
    ({ hook, at }) => hook !== 'health' && Date.now() - at < LONG_AGO_MS,
  )
  return others.map(({ plugin, hook, why }) => finding('plugin-failed', { plugin, hook, why }))
}

/** Finds plugins that hide every tool. Callers with an identity may see more than others, so `auth` is excluded. */
function findHiddenTools({ catalog, config, hooks }: Graph): HealthFinding[] {
  const taps = config.auth === undefined ? hooks.listTaps('catalog') : []
  if (taps.length === 0) return []
  const viewer = { principal: ANONYMOUS, profile: undefined }
  try {
    const known = catalog.collectKnownEntries('tools', viewer)
    const all = known.map(({ entry }) => entry)
    if (all[0] === undefined || known.some(({ visible }) => visible !== undefined)) return []
    const hiding = taps.filter(({ run }) => (run(all, { kind: 'tools', ...viewer }) ?? all).length < all.length)
    const plugins = [...new Set(hiding.map(({ plugin }) => plugin))].join(', ')
    return [finding('tools-hidden', { count: all.length, plugins, tool: all[0].exposed })]
  } catch {
    // The plugin's error is a finding itself.
    return []
  }
}

/** Finding about a rejected configuration: `validate` reports errors in the files, the error's hint all others. */
export function createRefusedFinding({ code, hint }: GatewayError, why: string): HealthFinding {
  const refused = finding('config-refused', { why })
  if (/^GW_(CONFIG|PLUGIN)_/.test(code)) return refused
  return { ...refused, fix: `${hint.replace(/\.$/, '')}; then: gateway reload` }
}

/** A failing plugin becomes a finding itself, so that the other findings are still reported. */
function addPluginFindings(own: readonly HealthFinding[], { hooks }: Graph): readonly HealthFinding[] {
  let findings = own
  for (const { plugin, run } of hooks.listTaps('health'))
    try {
      findings = validateFindings(run(findings) ?? findings)
    } catch (error) {
      findings = [...findings, finding('plugin-health', { plugin, why: describeCause(error) })]
    }
  return findings
}

/** The hook's own error names the plugin alone. */
function describeCause(error: unknown): string {
  return getErrorMessage(error instanceof Error && error.cause !== undefined ? error.cause : error)
}

function validateFindings(findings: readonly HealthFinding[]): readonly HealthFinding[] {
  const untyped: unknown = findings
  if (Array.isArray(untyped) && untyped.every(isFinding)) return findings
  throw new Error('the health hook returned invalid findings')
}

function isFinding(one: unknown): boolean {
  if (!isObject(one)) return false
  const texts = [one.code, one.summary, one.fix, one.detail ?? '', one.upstream ?? '']
  return texts.every(text => typeof text === 'string') && LEVELS.includes(one.level as HealthLevel)
}

function describeUpstream(upstream: Upstream, { catalog }: Graph): HealthFinding[] {
  const { name, state, degraded } = upstream
  const reason = getOwnerProblem(upstream) ?? 'unknown reason'
  const lists = Object.entries(catalog.getListProblems(name) ?? {})
  return [
    ...(hasFailed(upstream) ? [createFixableFinding('upstream-failed', upstream, { why: reason })] : []),
    ...(state === 'needs_auth' ? [finding('upstream-needs-login', { upstream: name, detail: reason })] : []),
    ...(state === 'stopped' ? [finding('upstream-stopped', { upstream: name })] : []),
    ...(degraded === undefined ? [] : [createFixableFinding('upstream-degraded', upstream, { why: degraded })]),
    ...(lists.length === 0 || state !== 'ready'
      ? []
      : [finding('upstream-lists', { upstream: name, why: lists.map(one => one.join(': ')).join('; ') })]),
    ...createRestartFinding(upstream),
  ]
}

/** True if the last start failed, also during the next one. */
function hasFailed({ state, problem }: Upstream): boolean {
  return state === 'failed' || (state === 'starting' && problem !== undefined)
}

/** Advice for servers that are not child processes, and so have no output here. */
const ELSEWHERE = {
  'upstream-failed': 'Check that it runs and is reachable; then: gateway restart {upstream}',
  'upstream-degraded': 'See the gateway log',
  'upstream-restarts': 'See the gateway log; then: gateway restart {upstream}',
} as const

/** Advice for a process that is not running and wrote nothing, such as one that could not be started. */
const SILENT =
  'It has no output: fix the problem above (run gateway reload after changes to gateway.yaml); then: gateway restart {upstream}'

const REFUSED = /^HTTP 40[13]\b/
const WANTS_LOGIN = 'It requires a login or another token: see docs/login.md; then: gateway reload'

/** Creates a finding with advice that applies to this server. */
function createFixableFinding(
  code: keyof typeof ELSEWHERE,
  { name, logs }: Upstream,
  fields: Readonly<Record<string, string | number>>,
): HealthFinding {
  const base = finding(code, { upstream: name, ...fields })
  const isSilent = code === 'upstream-failed' && logs?.recent().length === 0
  if (logs !== undefined && !isSilent) return base
  const fix = REFUSED.test(String(fields['why'])) ? WANTS_LOGIN : ELSEWHERE[code]
  return { ...base, fix: fillTemplate(isSilent ? SILENT : fix, { upstream: name }) }
}

function createRestartFinding(upstream: Upstream): HealthFinding[] {
  const { state, runtime } = upstream
  const { restarts = 0, lastError, lastErrorAt = 0 } = runtime ?? {}
  if (state === 'failed' || restarts < MIN_RESTARTS || Date.now() - lastErrorAt > LONG_AGO_MS) return []
  return [createFixableFinding('upstream-restarts', upstream, { count: restarts, why: lastError ?? 'it ended' })]
}

/** Servers' texts may hold control characters. */
function removeControlCharacters({ summary, detail, ...otherFields }: HealthFinding): HealthFinding {
  return {
    ...otherFields,
    summary: toOneLine(summary),
    ...(detail === undefined ? {} : { detail: sanitizeText(detail) }),
  }
}

/** Returns an upstream's status for display. */
export function getUpstreamStatus(upstream: Upstream, { hooks, catalog, hide }: Graph): UpstreamStatus {
  const lists = catalog.getListProblems(upstream.name)
  const status = lists === undefined ? createStatus(upstream) : { ...createStatus(upstream), lists }
  return redactValue(hooks.getRunner('status')?.(status, upstream) ?? status, hide)
}

function createStatus(upstream: Upstream): UpstreamStatus {
  const { name, spec, state, pid, server, dropped, degraded, runtime } = upstream
  const problem = getOwnerProblem(upstream)
  return {
    name,
    type: spec.type,
    state,
    ...(upstream.isRemembered === true ? { remembered: true as const } : {}),
    ...(problem === undefined ? {} : { problem }),
    ...(pid === undefined ? {} : { pid }),
    ...(dropped === undefined ? {} : { dropped }),
    ...(degraded === undefined ? {} : { degraded }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(server === undefined
      ? {}
      : {
          era: server.era,
          version: server.version,
          server: { name: server.info.name, version: server.info.version },
        }),
  }
}
