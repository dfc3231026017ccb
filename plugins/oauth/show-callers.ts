import type { Figure, HealthFinding, PluginHooks } from '../../src/plugin.ts'
import type { LoginCounts } from './callers.ts'
import { loginFinding } from './health.ts'
import type { OAuthService } from './service.ts'
import { isOfCaller } from './upstreams.ts'

/** Shows in `ps`, `inspect` and `/metrics` how many callers have logged in, and how many wait. */
export function showCallers({ figures, health, ready, status }: PluginHooks, service: OAuthService): void {
  const countsOf = (name: string): LoginCounts | undefined => {
    const flow = service.flows.get(name)
    if (flow === undefined || !isOfCaller(flow.spec) || flow.spec.oauth.grant !== 'code') return undefined
    return service.waiting.counts(name, flow.resource)
  }
  // Whoever counts does not wait, so that the vault is opened ahead.
  ready.tap(() => void service.vault.version().catch(() => undefined))
  status.tap(shown => {
    const logins = countsOf(shown.name)
    if (logins === undefined) return undefined
    return { ...shown, logins: { ...logins } }
  })
  health.tap(findings => [
    ...findings.map(one =>
      one.code === 'upstream-needs-login' && service.flows.has(one.upstream ?? '')
        ? { ...one, fix: `gateway login ${one.upstream}` }
        : one,
    ),
    ...[...service.flows.keys()].flatMap(upstream => waitFinding(upstream, countsOf(upstream))),
  ])
  figures.tap(all => [...all, figureOf([...service.flows.keys()], countsOf)])
}

function waitFinding(upstream: string, counts: LoginCounts | undefined): HealthFinding[] {
  if (counts === undefined || counts.waiting === 0) return []
  const waiting = `${counts.waiting} ${counts.waiting === 1 ? 'caller' : 'callers'}`
  return [loginFinding('callers-wait-for-login', { upstream, waiting, granted: counts.granted })]
}

function figureOf(names: readonly string[], countsOf: (name: string) => LoginCounts | undefined): Figure {
  const samples = names.flatMap(upstream =>
    Object.entries(countsOf(upstream) ?? {}).map(([state, value]: [string, number]) => ({
      labels: { upstream, state },
      value,
    })),
  )
  const help = 'Callers with a login of their own at a server, and callers that wait for one.'
  return { name: 'tapgate_oauth_callers', type: 'gauge', help, samples }
}
