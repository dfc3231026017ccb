import type { Clock, Figure, HealthFinding, PluginHooks, Upstream, UpstreamState } from '../../src/plugin.ts'
import type { LoginCounts } from './callers.ts'
import { loginFinding } from './errors.ts'
import type { OAuthService } from './service.ts'
import { GATEWAY_ACCOUNT } from './types.ts'
import { isOfCaller } from './upstreams.ts'

/** Pause between two looks at the vault while a server waits for a login that another process may make. */
const LOOK_MS = 1000

/** Starts servers that wait for a login as soon as somebody has made it, in this process or in another. */
export function watchLogins(hooks: PluginHooks, service: OAuthService, clock: Clock): void {
  const waiting = new Set<string>()
  /** Generation of the login with which a server was started last: the same one is not tried again and again. */
  const tried = new Map<string, number>()
  const upstreams = new Map<string, Upstream>()
  let takeBack: (() => void) | undefined
  let isClosed = false

  const look = async (): Promise<void> => {
    for (const name of waiting) {
      const flow = service.flows.get(name)
      if (flow === undefined) waiting.delete(name)
      else if (await hasNewLogin(name)) void upstreams.get(name)?.start()
    }
    takeBack = undefined
    arm()
  }
  const hasNewLogin = async (name: string): Promise<boolean> => {
    const { resource } = service.flow(name)
    const standing = await service.grants.standing(GATEWAY_ACCOUNT, resource)
    if (standing.kind !== 'granted' || tried.get(name) === standing.grant.generation) return false
    tried.set(name, standing.grant.generation)
    return true
  }
  const arm = (): void => {
    if (waiting.size > 0 && !isClosed) takeBack ??= clock.after(LOOK_MS, () => void look().catch(again))
  }
  const noted = (name: string, state: UpstreamState): void => {
    if (state === 'needs_auth') waiting.add(name)
    else waiting.delete(name)
    arm()
  }
  const again = (): void => {
    takeBack = undefined
    arm()
  }

  // One that waits is started before the login's answer goes out: a call right after it finds an attempt to wait for.
  const forget = service.onGranted((name, account) => {
    if (account === GATEWAY_ACCOUNT && waiting.has(name)) void upstreams.get(name)?.start()
  })

  hooks.dispatch.tap((next, upstream) => {
    upstreams.set(upstream.name, upstream)
    if (upstream.state === 'needs_auth') noted(upstream.name, upstream.state)
    return next
  })
  hooks.upstreamState.tap(noted)
  hooks.close.tap(() => {
    isClosed = true
    forget()
    takeBack?.()
  })
}

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
