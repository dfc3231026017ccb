import type { Clock, PluginHooks, Upstream, UpstreamState } from '../../src/plugin.ts'
import type { OAuthService } from './service.ts'
import { GATEWAY_ACCOUNT } from './types.ts'

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
