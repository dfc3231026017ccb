import type { Clock, HealthFinding, PluginHooks, Upstream, UpstreamState } from '../../src/plugin.ts'
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
    const grant = await service.vault.find({ account: GATEWAY_ACCOUNT, resource })
    if (grant === undefined || grant.lost !== undefined || tried.get(name) === grant.generation) return false
    tried.set(name, grant.generation)
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

/** Shows how many callers must log in, in `ps`, `inspect` and `/metrics`. */
export function showCallers({ metrics, health, status }: PluginHooks, service: OAuthService): void {
  const listUpstreams = (): string[] =>
    [...service.flows].flatMap(([name, { spec }]) => (isPerCaller(spec) && spec.oauth.grant === 'code' ? [name] : []))
  status.tap(row =>
    listUpstreams().includes(row.name)
      ? { ...row, logins: { waiting: service.waiting.countWaiting(row.name) } }
      : undefined,
  )
  health.tap(findings => [
    ...findings.map(one =>
      one.code === 'upstream-needs-login' && service.flows.has(one.upstream ?? '')
        ? { ...one, fix: `gateway login ${one.upstream}` }
        : one,
    ),
    ...listUpstreams().flatMap(upstream => createWaitFinding(upstream, service.waiting.countWaiting(upstream))),
  ])
  metrics.tap(all => {
    const samples = listUpstreams().map(upstream => ({
      labels: { upstream },
      value: service.waiting.countWaiting(upstream),
    }))
    return [
      ...all,
      { name: 'tapgate_oauth_waiting_callers', type: 'gauge', help: 'Callers that must log in.', samples },
    ]
  })
}

function createWaitFinding(upstream: string, count: number): HealthFinding[] {
  if (count === 0) return []
  const waiting = `${count} ${count === 1 ? 'caller' : 'callers'}`
  return [loginFinding('callers-wait-for-login', { upstream, waiting })]
}
