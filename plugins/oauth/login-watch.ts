import type { Clock, PluginHooks, Upstream } from '../../src/plugin.ts'
import type { OAuthService } from './service.ts'
import { GATEWAY_ACCOUNT } from './types.ts'

/** Vault poll interval while an upstream waits for a login, which another process may make. */
const LOOK_MS = 1000

/** Starts waiting upstreams after a login in this or another process. */
export function watchLogins(hooks: PluginHooks, service: OAuthService, clock: Clock): void {
  const upstreams = new Map<string, Upstream>()
  /** Generation of the latest tried login, to try each only once. */
  const tried = new Map<string, number>()
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  const listWaiting = (): Upstream[] =>
    [...upstreams.values()].filter(({ name, state }) => state === 'needs_auth' && service.flows.has(name))
  const startWaiting = async (): Promise<void> => {
    for (const upstream of listWaiting()) {
      const { resource } = service.flow(upstream.name)
      const grant = await service.vault.find({ account: GATEWAY_ACCOUNT, resource }).catch(() => undefined)
      if (grant === undefined || grant.lost !== undefined || tried.get(upstream.name) === grant.generation) continue
      tried.set(upstream.name, grant.generation)
      void upstream.start()
    }
    cancelTimer = undefined
    arm()
  }
  const arm = (): void => {
    if (listWaiting().length > 0 && !isClosed) cancelTimer ??= clock.after(LOOK_MS, () => void startWaiting())
  }

  // Start before the login is answered, so that an immediate call waits for the start.
  const forget = service.onGranted((name, account) => {
    if (account === GATEWAY_ACCOUNT)
      void listWaiting()
        .find(one => one.name === name)
        ?.start()
  })

  hooks.dispatch.tap((next, upstream) => {
    upstreams.set(upstream.name, upstream)
    arm()
    return next
  })
  hooks.upstreamState.tap(arm)
  hooks.health.tap(findings =>
    findings.map(one =>
      one.code === 'upstream-needs-login' && service.flows.has(one.upstream ?? '')
        ? { ...one, fix: `gateway login ${one.upstream}` }
        : one,
    ),
  )
  hooks.close.tap(() => {
    isClosed = true
    forget()
    cancelTimer?.()
  })
}
