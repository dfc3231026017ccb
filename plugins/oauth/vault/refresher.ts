import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, toOneLine, getErrorMessage } from '../../../src/plugin.ts'
import type { GrantKey, StoredGrant, NewGrant, RefreshResult, TokenEndpoint, Vault } from '../types.ts'

/** Time of one request to the authorization server, whoever waits for it. */
const REQUEST_MS = 30_000
/** Longer than any request: a process that dies with a lease keeps the others waiting no longer. */
const LEASE_MS = REQUEST_MS + 15_000
/** Time that others wait for who has the lease, and how often they look. */
const WAIT_MS = 5000
const POLL_MS = 50
/** Pauses after an authorization server that did not answer. */
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000
const MAX_PAUSED = 1000
/** Pause before what the disk did not take is written again. */
const WRITE_AGAIN_MS = 1000
/** Longest text of an authorization server that is shown to people. */
const MAX_WORDS = 200

interface RefresherDeps {
  readonly vault: Vault
  readonly endpoint: TokenEndpoint
  readonly clock: Clock
  readonly log: Log
  readonly now: () => number
  readonly owner: string
  /** A grant is on the disk that was held in memory. */
  onWritten(grant: StoredGrant): void
}

/** Outcome of a refresh, for all who waited. */
export type RenewalOutcome =
  | { readonly kind: 'granted'; readonly grant: StoredGrant }
  /** The grant is gone. */
  | { readonly kind: 'lost'; readonly why: string }
  /** The authorization server does not want to renew it, and has not said that it is over. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

interface Pause {
  readonly until: number
  readonly ms: number
  readonly outcome: RenewalOutcome
}

/** Refreshes grants: one request at a time for each, over all processes, detached from the calls that wait. */
export class Refresher {
  readonly #options: RefresherDeps
  readonly #flights = new Map<string, Promise<RenewalOutcome>>()
  /** Grants whose authorization server is left alone for a while. */
  readonly #pauses = new BoundedMap<string, Pause>({ max: MAX_PAUSED })
  /** Grants that the disk did not take: the old refresh token is of no use any more. */
  readonly #unwritten = new BoundedMap<string, StoredGrant>({ max: MAX_PAUSED })

  constructor(options: RefresherDeps) {
    this.#options = options
  }

  /** The grant after its refresh. All who ask while one is under way get the same. */
  renew(grant: StoredGrant): Promise<RenewalOutcome> {
    const key = createRefreshKey(grant)
    let flight = this.#flights.get(key)
    if (flight === undefined) {
      flight = this.#renewWithLease(grant).finally(() => this.#flights.delete(key))
      this.#flights.set(key, flight)
    }
    return flight
  }

  /** The newer one, where the disk did not take it. */
  preferUnwritten(found: StoredGrant | undefined): StoredGrant | undefined {
    if (found === undefined) return undefined
    const held = this.#unwritten.get(createRefreshKey(found))
    return held?.generation === found.generation ? held : found
  }

  /** Resolves when nothing is under way, and what could not be written was tried once more. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#flights.values())
    for (const held of [...this.#unwritten.values()]) await this.#writeAgain(held)
  }

  async #renewWithLease(grant: StoredGrant): Promise<RenewalOutcome> {
    try {
      const paused = this.#getPauseOutcome(grant)
      if (paused !== undefined) return paused
      const other = await this.#acquireLease(grant)
      if (other !== undefined) return other
      try {
        // Whoever had the lease before may have renewed it.
        return (await this.#findOtherResult(grant)) ?? (await this.#refreshGrant(grant))
      } finally {
        await this.#options.vault.release(grant, this.#options.owner).catch(() => undefined)
      }
    } catch (error) {
      return { kind: 'unavailable', why: getErrorMessage(error) }
    }
  }

  /** Takes the lease; where another process has it, waits for what comes of that. */
  async #acquireLease(grant: StoredGrant): Promise<RenewalOutcome | undefined> {
    const { vault, clock, owner } = this.#options
    const end = clock.now() + WAIT_MS
    while (!(await vault.lease(grant, owner, LEASE_MS))) {
      const other = await this.#findOtherResult(grant)
      if (other !== undefined) return other
      if (clock.now() >= end)
        return { kind: 'unavailable', why: 'another process renews the login, and is not done' }
      await new Promise<void>(resolve => void clock.after(POLL_MS, resolve))
    }
    return undefined
  }

  /** Outcome of another process: another generation, or none. */
  async #findOtherResult({
    account,
    resource,
    issuer,
    generation,
  }: StoredGrant): Promise<RenewalOutcome | undefined> {
    const { vault } = this.#options
    const now = await vault.find(account, resource, issuer)
    if (now === undefined)
      return { kind: 'lost', why: await this.#findLossReason({ account, resource, issuer }) }
    return now.generation === generation ? undefined : { kind: 'granted', grant: now }
  }

  async #findLossReason(key: GrantKey): Promise<string> {
    const lost = await this.#options.vault.listLost(key)
    return lost.find(one => createRefreshKey(one) === createRefreshKey(key))?.why ?? 'somebody has logged out'
  }

  async #refreshGrant(grant: StoredGrant): Promise<RenewalOutcome> {
    const { vault, owner } = this.#options
    if ((await vault.claimRefreshToken?.(grant, owner)) === false) return this.#resolveInterrupted(grant)
    const refreshed = await this.#requestRefresh(grant)
    // A token that was not used up, or is good for more than once, may go out again.
    const isSpent =
      refreshed.kind === 'granted'
        ? ![undefined, grant.refresh].includes(refreshed.grant.refresh)
        : refreshed.kind === 'refused' && refreshed.error === 'invalid_grant'
    if (!isSpent) await vault.returnRefreshToken?.(grant, owner).catch(() => undefined)
    return this.#toOutcome(grant, refreshed)
  }

  /** Somebody sent the refresh token and died before he could say what came of it. Nobody sends it a second time. */
  async #resolveInterrupted(grant: StoredGrant): Promise<RenewalOutcome> {
    const other = await this.#findOtherResult(grant)
    if (other !== undefined) return other
    const { expiresAt = 0, generation } = grant
    const why =
      'the replica that renewed the login was stopped meanwhile, and its refresh token may be used up'
    // The token that is there is good until its end.
    if (this.#options.now() < expiresAt) return this.#startPause(grant, { kind: 'refused', why })
    await this.#options.vault.remove(grant, generation, why)
    return (await this.#findOtherResult(grant)) ?? createLost(why)
  }

  async #toOutcome(grant: StoredGrant, refreshed: RefreshResult): Promise<RenewalOutcome> {
    if (refreshed.kind === 'granted') return this.#storeGrant(grant, refreshed.grant)
    if (refreshed.kind === 'unreachable') {
      const why = `the authorization server cannot be reached: ${toOneLine(refreshed.reason).slice(0, MAX_WORDS)}`
      return this.#startPause(grant, { kind: 'unavailable', why }, refreshed.retryAfterMs)
    }
    const why = formatRefusal(refreshed)
    if (refreshed.error !== 'invalid_grant')
      return this.#startPause(grant, { kind: 'refused', why }, MAX_PAUSE_MS)
    const { vault } = this.#options
    if (!(await vault.remove(grant, grant.generation, why)))
      return (await this.#findOtherResult(grant)) ?? createLost(why)
    return createLost(why)
  }

  /** One request with a time of its own. */
  async #requestRefresh(grant: StoredGrant): Promise<RefreshResult> {
    const { endpoint, clock } = this.#options
    const ending = new AbortController()
    let takeBack = (): void => undefined
    const late = new Promise<RefreshResult>(resolve => {
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
  async #storeGrant(before: StoredGrant, grant: NewGrant): Promise<RenewalOutcome> {
    const { vault, now, log } = this.#options
    const { account, resource, issuer } = before
    const { refresh = before.refresh } = grant
    const renewed = { ...grant, ...(refresh === undefined ? {} : { refresh }) }
    this.#pauses.delete(createPauseKey(before))
    try {
      const generation = await vault.put(before, renewed, before.generation)
      // A login was faster: that one counts.
      if (generation === undefined)
        return (await this.#findOtherResult(before)) ?? createLost('somebody has logged out')
      return { kind: 'granted', grant: { account, resource, issuer, ...renewed, generation, at: now() } }
    } catch (error) {
      log.error('a renewed login cannot be written; it is held in memory', {
        resource,
        why: getErrorMessage(error),
      })
      const held = { ...before, ...renewed, at: now() }
      this.#unwritten.set(createRefreshKey(before), held)
      this.#writeLater(held)
      return { kind: 'granted', grant: held }
    }
  }

  /** Writes a grant that the disk did not take, as soon as it does. */
  #writeLater(held: StoredGrant): void {
    this.#options.clock.after(WRITE_AGAIN_MS, () => void this.#writeAgain(held))
  }

  async #writeAgain(held: StoredGrant): Promise<void> {
    if (this.#unwritten.get(createRefreshKey(held)) !== held) return
    const { vault, log, onWritten } = this.#options
    try {
      await vault.put(held, held, held.generation)
    } catch {
      return this.#writeLater(held)
    }
    this.#unwritten.delete(createRefreshKey(held))
    onWritten(held)
    log.info('the renewed login is written now', { resource: held.resource })
  }

  #getPauseOutcome(grant: StoredGrant): RenewalOutcome | undefined {
    const pause = this.#pauses.get(createPauseKey(grant))
    return pause !== undefined && this.#options.clock.now() < pause.until ? pause.outcome : undefined
  }

  #startPause(grant: StoredGrant, outcome: RenewalOutcome, least = 0): RenewalOutcome {
    const { clock } = this.#options
    const before = this.#pauses.get(createPauseKey(grant))?.ms ?? FIRST_PAUSE_MS / 2
    const ms = Math.min(Math.max(before * 2, least), MAX_PAUSE_MS)
    this.#pauses.set(createPauseKey(grant), { until: clock.now() + ms, ms, outcome })
    return outcome
  }
}

function createLost(why: string): RenewalOutcome {
  return { kind: 'lost', why }
}

/** Error of an authorization server in one line. Its description is a stranger's text. */
function formatRefusal({ error, description }: Extract<RefreshResult, { kind: 'refused' }>): string {
  const said = description === undefined ? '' : ` (${toOneLine(description).slice(0, MAX_WORDS)})`
  return `the authorization server does not renew the login: ${toOneLine(error).slice(0, MAX_WORDS)}${said}`
}

function createRefreshKey({ account, resource, issuer }: GrantKey): string {
  return JSON.stringify([account, resource, issuer])
}

/** A new login is none of the pauses of the one before. */
function createPauseKey(grant: StoredGrant): string {
  return `${grant.generation} ${createRefreshKey(grant)}`
}
