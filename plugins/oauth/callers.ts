import {
  BoundedMap,
  type Figure,
  type HealthFinding,
  type JsonObject,
  type PluginHooks,
} from '../../src/plugin.ts'
import { loginFinding } from './health.ts'
import type { OAuthService } from './service.ts'
import type { Caller, Vault } from './types.ts'
import { isOfCaller } from './upstreams.ts'

/** Callers that are remembered as waiting, over all servers. */
const MAX_WAITING = 10_000

/** A caller who was told to log in. */
export interface WaitingCaller {
  readonly upstream: string
  readonly resource: string
  readonly account: string
  readonly caller: Caller
  /** Milliseconds since 1970. */
  readonly since: number
}

/** Counts of the callers of one server. */
export interface LoginCounts {
  readonly granted: number
  readonly waiting: number
}

/** Callers that wait for a login of theirs: a login that was made since, here or in another process, ends it. */
export class WaitingCallers {
  readonly #vault: Pick<Vault, 'grantedAt' | 'callers'>
  readonly #waiting = new BoundedMap<string, WaitingCaller>({ max: MAX_WAITING })

  constructor(vault: Pick<Vault, 'grantedAt' | 'callers'>) {
    this.#vault = vault
  }

  add(one: WaitingCaller): void {
    this.#waiting.set(keyOf(one.upstream, one.account), one)
  }

  /** Those that still wait. */
  all(): WaitingCaller[] {
    const found: WaitingCaller[] = []
    for (const [key, one] of [...this.#waiting.entries()])
      if (this.#isDone(one)) this.#waiting.delete(key)
      else found.push(one)
    return found
  }

  /** Undefined as long as nobody has opened the vault. */
  counts(upstream: string, resource: string): LoginCounts | undefined {
    const counted = this.#vault.callers(resource)
    if (counted === undefined) return undefined
    const waiting = this.all().filter(one => one.upstream === upstream)
    // A login that its server does not take any more is there, and of no use.
    const useless = waiting.filter(one => this.#vault.grantedAt(one.account, resource) !== undefined)
    const accounts = new Set([...waiting.map(({ account }) => account), ...counted.lost])
    return { granted: counted.granted - useless.length, waiting: accounts.size }
  }

  /** True where a caller that was told to log in has done so: what refuses it now is older than the login. */
  hasLoggedIn(upstream: string, resource: string, account: string): boolean {
    const waiting = this.#waiting.get(keyOf(upstream, account))
    const at = this.#vault.grantedAt(account, resource)
    return at !== undefined && (waiting === undefined || at > waiting.since)
  }

  #isDone({ account, resource, since }: WaitingCaller): boolean {
    const at = this.#vault.grantedAt(account, resource)
    return at !== undefined && at > since
  }
}

function keyOf(upstream: string, account: string): string {
  return JSON.stringify([upstream, account])
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

/** A caller that waits, as a row of `gateway logins`. */
export function rowOfWaiting({ upstream, resource, account, since }: WaitingCaller): JsonObject {
  const why = 'a call of this caller was refused, as there is no login'
  return { upstream, account, resource, state: 'needs_auth', why, since }
}
