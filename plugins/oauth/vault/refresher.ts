import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, toOneLine, getErrorMessage } from '../../../src/plugin.ts'
import type { GrantKey, KeptGrant, NewGrant, Refreshed, TokenEndpoint, Vault } from '../types.ts'

/** Time of one request to the authorization server, whoever waits for it. */
const REQUEST_MS = 30_000
/** Longer than any request: a process that dies with a lease keeps the others waiting no longer. */
const LEASE_MS = REQUEST_MS + 15_000
/** Time that others wait for who has the lease, and how often they look. */
const WAIT_MS = 5000
const LOOK_MS = 50
/** Pauses after an authorization server that did not answer. */
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000
const MAX_PAUSED = 1000
/** Pause before what the disk did not take is written again. */
const WRITE_AGAIN_MS = 1000
/** Longest text of an authorization server that is shown to people. */
const MAX_WORDS = 200

interface RefresherOptions {
  readonly vault: Vault
  readonly endpoint: TokenEndpoint
  readonly clock: Clock
  readonly log: Log
  readonly now: () => number
  readonly owner: string
  /** A grant is on the disk that was held in memory. */
  written(grant: KeptGrant): void
}

/** Outcome of a refresh, for all who waited. */
export type Renewed =
  | { readonly kind: 'granted'; readonly grant: KeptGrant }
  /** The grant is gone. */
  | { readonly kind: 'lost'; readonly why: string }
  /** The authorization server does not want to renew it, and has not said that it is over. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

interface Pause {
  readonly until: number
  readonly ms: number
  readonly outcome: Renewed
}

/** Refreshes grants: one request at a time for each, over all processes, detached from the calls that wait. */
export class Refresher {
  readonly #options: RefresherOptions
  readonly #flights = new Map<string, Promise<Renewed>>()
  /** Grants whose authorization server is left alone for a while. */
  readonly #pauses = new BoundedMap<string, Pause>({ max: MAX_PAUSED })
  /** Grants that the disk did not take: the old refresh token is of no use any more. */
  readonly #unwritten = new BoundedMap<string, KeptGrant>({ max: MAX_PAUSED })

  constructor(options: RefresherOptions) {
    this.#options = options
  }

  /** The grant after its refresh. All who ask while one is under way get the same. */
  renewed(grant: KeptGrant): Promise<Renewed> {
    const key = keyOf(grant)
    let flight = this.#flights.get(key)
    if (flight === undefined) {
      flight = this.#run(grant).finally(() => this.#flights.delete(key))
      this.#flights.set(key, flight)
    }
    return flight
  }

  /** The newer one, where the disk did not take it. */
  unwritten(found: KeptGrant | undefined): KeptGrant | undefined {
    if (found === undefined) return undefined
    const held = this.#unwritten.get(keyOf(found))
    return held?.generation === found.generation ? held : found
  }

  /** Resolves when nothing is under way, and what could not be written was tried once more. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#flights.values())
    for (const held of [...this.#unwritten.values()]) await this.#writeAgain(held)
  }

  async #run(grant: KeptGrant): Promise<Renewed> {
    try {
      const paused = this.#paused(grant)
      if (paused !== undefined) return paused
      const other = await this.#leased(grant)
      if (other !== undefined) return other
      try {
        // Whoever had the lease before may have renewed it.
        return (await this.#byOthers(grant)) ?? (await this.#refresh(grant))
      } finally {
        await this.#options.vault.release(grant, this.#options.owner).catch(() => undefined)
      }
    } catch (error) {
      return { kind: 'unavailable', why: getErrorMessage(error) }
    }
  }

  /** Takes the lease; where another process has it, waits for what comes of that. */
  async #leased(grant: KeptGrant): Promise<Renewed | undefined> {
    const { vault, clock, owner } = this.#options
    const end = clock.now() + WAIT_MS
    while (!(await vault.lease(grant, owner, LEASE_MS))) {
      const other = await this.#byOthers(grant)
      if (other !== undefined) return other
      if (clock.now() >= end)
        return { kind: 'unavailable', why: 'another process renews the login, and is not done' }
      await new Promise<void>(resolve => void clock.after(LOOK_MS, resolve))
    }
    return undefined
  }

  /** Outcome of another process: another generation, or none. */
  async #byOthers({ account, resource, issuer, generation }: KeptGrant): Promise<Renewed | undefined> {
    const { vault } = this.#options
    const now = await vault.find(account, resource, issuer)
    if (now === undefined) return { kind: 'lost', why: await this.#whyLost({ account, resource, issuer }) }
    return now.generation === generation ? undefined : { kind: 'granted', grant: now }
  }

  async #whyLost(key: GrantKey): Promise<string> {
    const lost = await this.#options.vault.lost(key)
    return lost.find(one => keyOf(one) === keyOf(key))?.why ?? 'somebody has logged out'
  }

  async #refresh(grant: KeptGrant): Promise<Renewed> {
    const { vault, owner } = this.#options
    if ((await vault.spend?.(grant, owner)) === false) return this.#halfway(grant)
    const refreshed = await this.#asked(grant)
    // A token that was not used up, or is good for more than once, may go out again.
    const isSpent =
      refreshed.kind === 'granted'
        ? ![undefined, grant.refresh].includes(refreshed.grant.refresh)
        : refreshed.kind === 'refused' && refreshed.error === 'invalid_grant'
    if (!isSpent) await vault.giveBack?.(grant, owner).catch(() => undefined)
    return this.#outcome(grant, refreshed)
  }

  /** Somebody sent the refresh token and died before he could say what came of it. Nobody sends it a second time. */
  async #halfway(grant: KeptGrant): Promise<Renewed> {
    const other = await this.#byOthers(grant)
    if (other !== undefined) return other
    const { expiresAt = 0, generation } = grant
    const why =
      'the replica that renewed the login was stopped meanwhile, and its refresh token may be used up'
    // The token that is there is good until its end.
    if (this.#options.now() < expiresAt) return this.#pause(grant, { kind: 'refused', why })
    await this.#options.vault.remove(grant, generation, why)
    return (await this.#byOthers(grant)) ?? lost(why)
  }

  async #outcome(grant: KeptGrant, refreshed: Refreshed): Promise<Renewed> {
    if (refreshed.kind === 'granted') return this.#kept(grant, refreshed.grant)
    if (refreshed.kind === 'unreachable') {
      const why = `the authorization server cannot be reached: ${toOneLine(refreshed.reason).slice(0, MAX_WORDS)}`
      return this.#pause(grant, { kind: 'unavailable', why }, refreshed.retryAfterMs)
    }
    const why = refusalOf(refreshed)
    if (refreshed.error !== 'invalid_grant') return this.#pause(grant, { kind: 'refused', why }, MAX_PAUSE_MS)
    const { vault } = this.#options
    if (!(await vault.remove(grant, grant.generation, why))) return (await this.#byOthers(grant)) ?? lost(why)
    return lost(why)
  }

  /** One request with a time of its own. */
  async #asked(grant: KeptGrant): Promise<Refreshed> {
    const { endpoint, clock } = this.#options
    const ending = new AbortController()
    let takeBack = (): void => undefined
    const late = new Promise<Refreshed>(resolve => {
      takeBack = clock.after(REQUEST_MS, () => {
        ending.abort()
        resolve({ kind: 'unreachable', reason: `no answer within ${REQUEST_MS / 1000} s` })
      })
    })
    try {
      return await Promise.race([endpoint.refresh(grant, grant, ending.signal), late])
    } catch (error) {
      return { kind: 'unreachable', reason: getErrorMessage(error) }
    } finally {
      takeBack()
    }
  }

  /** Writes what came before anybody gets it. */
  async #kept(before: KeptGrant, grant: NewGrant): Promise<Renewed> {
    const { vault, now, log } = this.#options
    const { account, resource, issuer } = before
    const { refresh = before.refresh } = grant
    const renewed = { ...grant, ...(refresh === undefined ? {} : { refresh }) }
    this.#pauses.delete(pauseKeyOf(before))
    try {
      const generation = await vault.put(before, renewed, before.generation)
      // A login was faster: that one counts.
      if (generation === undefined) return (await this.#byOthers(before)) ?? lost('somebody has logged out')
      return { kind: 'granted', grant: { account, resource, issuer, ...renewed, generation, at: now() } }
    } catch (error) {
      log.error('a renewed login cannot be written; it is held in memory', {
        resource,
        why: getErrorMessage(error),
      })
      const held = { ...before, ...renewed, at: now() }
      this.#unwritten.set(keyOf(before), held)
      this.#writeLater(held)
      return { kind: 'granted', grant: held }
    }
  }

  /** Writes a grant that the disk did not take, as soon as it does. */
  #writeLater(held: KeptGrant): void {
    this.#options.clock.after(WRITE_AGAIN_MS, () => void this.#writeAgain(held))
  }

  async #writeAgain(held: KeptGrant): Promise<void> {
    if (this.#unwritten.get(keyOf(held)) !== held) return
    const { vault, log, written } = this.#options
    try {
      await vault.put(held, held, held.generation)
    } catch {
      return this.#writeLater(held)
    }
    this.#unwritten.delete(keyOf(held))
    written(held)
    log.info('the renewed login is written now', { resource: held.resource })
  }

  #paused(grant: KeptGrant): Renewed | undefined {
    const pause = this.#pauses.get(pauseKeyOf(grant))
    return pause !== undefined && this.#options.clock.now() < pause.until ? pause.outcome : undefined
  }

  #pause(grant: KeptGrant, outcome: Renewed, least = 0): Renewed {
    const { clock } = this.#options
    const before = this.#pauses.get(pauseKeyOf(grant))?.ms ?? FIRST_PAUSE_MS / 2
    const ms = Math.min(Math.max(before * 2, least), MAX_PAUSE_MS)
    this.#pauses.set(pauseKeyOf(grant), { until: clock.now() + ms, ms, outcome })
    return outcome
  }
}

function lost(why: string): Renewed {
  return { kind: 'lost', why }
}

/** Error of an authorization server in one line. Its description is a stranger's text. */
function refusalOf({ error, description }: Extract<Refreshed, { kind: 'refused' }>): string {
  const said = description === undefined ? '' : ` (${toOneLine(description).slice(0, MAX_WORDS)})`
  return `the authorization server does not renew the login: ${toOneLine(error).slice(0, MAX_WORDS)}${said}`
}

function keyOf({ account, resource, issuer }: GrantKey): string {
  return JSON.stringify([account, resource, issuer])
}

/** A new login is none of the pauses of the one before. */
function pauseKeyOf(grant: KeptGrant): string {
  return `${grant.generation} ${keyOf(grant)}`
}
