import { BoundedMap, type JsonObject } from '../../src/plugin.ts'
import type { Caller, Vault } from './types.ts'

/** Callers that are remembered as waiting, over all servers. */
const MAX_WAITING = 10_000

/** A caller who was told to log in. */
interface WaitingCaller {
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

/** A caller that waits, as a row of `gateway logins`. */
export function rowOfWaiting({ upstream, resource, account, since }: WaitingCaller): JsonObject {
  const why = 'a call of this caller was refused, as there is no login'
  return { upstream, account, resource, state: 'needs_auth', why, since }
}
