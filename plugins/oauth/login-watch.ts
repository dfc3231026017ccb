import type { Clock, Metric, HealthFinding, PluginHooks, Upstream, UpstreamState } from '../../src/plugin.ts'
import type { LoginCounts } from './callers.ts'
import { loginFinding } from './errors.ts'
import type { OAuthService } from './service.ts'
import { GATEWAY_ACCOUNT, isPerCaller } from './types.ts'

/** Vault poll interval while an upstream waits for a login, which another process may make. */
const LOOK_MS = 1000

/** Starts waiting upstreams after a login in this or another process. */
export function watchLogins(hooks: PluginHooks, service: OAuthService, clock: Clock): void {
  const waiting = new Set<string>()
  /** Generation of the latest tried login, to try each only once. */
  const tried = new Map<string, number>()
  const upstreams = new Map<string, Upstream>()
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  const startWaiting = async (): Promise<void> => {
    for (const name of waiting) {
      const flow = service.flows.get(name)
      if (flow === undefined) waiting.delete(name)
      else if (await hasNewLogin(name)) void upstreams.get(name)?.start()
    }
    cancelTimer = undefined
    arm()
  }
  const hasNewLogin = async (name: string): Promise<boolean> => {
    const { resource } = service.flow(name)
    const standing = await service.grants.getStatus({ account: GATEWAY_ACCOUNT, resource })
    if (standing.kind !== 'granted' || tried.get(name) === standing.grant.generation) return false
    tried.set(name, standing.grant.generation)
    return true
  }
  const arm = (): void => {
    if (waiting.size > 0 && !isClosed) cancelTimer ??= clock.after(LOOK_MS, () => void startWaiting().catch(rearm))
  }
  const noteState = (name: string, state: UpstreamState): void => {
    if (state === 'needs_auth') waiting.add(name)
    else waiting.delete(name)
    arm()
  }
  const rearm = (): void => {
    cancelTimer = undefined
    arm()
  }

  // Start before the login is answered, so that an immediate call waits for the start.
  const forget = service.onGranted((name, account) => {
    if (account === GATEWAY_ACCOUNT && waiting.has(name)) void upstreams.get(name)?.start()
  })

  hooks.dispatch.tap((next, upstream) => {
    upstreams.set(upstream.name, upstream)
    if (upstream.state === 'needs_auth') noteState(upstream.name, upstream.state)
    return next
  })
  hooks.upstreamState.tap(noteState)
  hooks.close.tap(() => {
    isClosed = true
    forget()
    cancelTimer?.()
  })
}

/** Shows logged-in and waiting caller counts in `ps`, `inspect` and `/metrics`. */
export function showCallers({ metrics, health, ready, status }: PluginHooks, service: OAuthService): void {
  const getCounts = (name: string): LoginCounts | undefined => {
    const flow = service.flows.get(name)
    if (flow === undefined || !isPerCaller(flow.spec) || flow.spec.oauth.grant !== 'code') return undefined
    return service.waiting.countLogins(name, flow.resource)
  }
  // Open the vault early, as counting does not wait for it.
  ready.tap(() => void service.vault.readNames().catch(() => undefined))
  status.tap(row => {
    const logins = getCounts(row.name)
    if (logins === undefined) return undefined
    return { ...row, logins: { ...logins } }
  })
  health.tap(findings => [
    ...findings.map(one =>
      one.code === 'upstream-needs-login' && service.flows.has(one.upstream ?? '')
        ? { ...one, fix: `gateway login ${one.upstream}` }
        : one,
    ),
    ...[...service.flows.keys()].flatMap(upstream => createWaitFinding(upstream, getCounts(upstream))),
  ])
  metrics.tap(all => [...all, createCallersFigure([...service.flows.keys()], getCounts)])
}

function createWaitFinding(upstream: string, counts: LoginCounts | undefined): HealthFinding[] {
  if (counts === undefined || counts.waiting === 0) return []
  const waiting = `${counts.waiting} ${counts.waiting === 1 ? 'caller' : 'callers'}`
  return [loginFinding('callers-wait-for-login', { upstream, waiting, granted: counts.granted })]
}

function createCallersFigure(names: readonly string[], getCounts: (name: string) => LoginCounts | undefined): Metric {
  const samples = names.flatMap(upstream =>
    Object.entries(getCounts(upstream) ?? {}).map(([state, value]: [string, number]) => ({
      labels: { upstream, state },
      value,
    })),
  )
  const help = 'Logged-in and waiting callers.'
  return { name: 'tapgate_oauth_callers', type: 'gauge', help, samples }
}
