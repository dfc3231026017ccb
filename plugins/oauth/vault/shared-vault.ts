import type { Clock, SharedStore } from '../../../src/plugin.ts'
import { BoundedMap, GatewayError } from '../../../src/plugin.ts'
import type { CallerCounts, GrantKey, StoredGrant, LostGrant, NewGrant, Vault } from '../types.ts'
import { GATEWAY_ACCOUNT } from '../types.ts'
import { vaultError } from '../errors.ts'
import type { GrantRecord, ListedLogin } from './shared-record.ts'
import {
  EMPTY,
  GrantIndex,
  changeText,
  findGeneration,
  findNewestGrant,
  nextGeneration,
  parseRecord,
  recordKey,
  addGrant,
  removeGrant,
} from './shared-record.ts'
import { LIFE_MS, SharedKeys } from './shared-keys.ts'

/** Maximum wanted scopes per grant. */
const MAX_WANTED = 200
const MAX_KNOWN = 10_000
/** Approximate index capacity. */
const MAX_GRANTS = 100_000
/** Maximum delay until another replica's write is read if its notification is lost. */
const LOOK_MS = 10_000
const CHANGED = 'changed'
const ALL_AT_ONCE = 50

interface SharedVaultDeps {
  readonly store: SharedStore
  readonly clock: Clock
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Called with each secret that is read or written, to hide it in output. */
  onSecret?(secret: string): void
}

/**
 * Logins of all replicas in their shared store. Values are sealed for one account at one upstream, so that write
 * access to the store allows neither reading nor moving them. While the store is unavailable cached records are used,
 * and nothing is written.
 */
export class SharedVault extends SharedKeys implements Vault {
  readonly #options: SharedVaultDeps
  readonly #index: GrantIndex
  /** Cached records by key. */
  readonly #records = new BoundedMap<string, GrantRecord>({ max: MAX_KNOWN })
  #changes = 0
  #counted: { readonly at: number; readonly all: readonly ListedLogin[] } | undefined
  #isCounting = false
  #end: (() => void) | undefined

  constructor(options: SharedVaultDeps) {
    const { store, now = Date.now } = options
    super(store, now)
    this.#options = options
    this.#index = new GrantIndex(store, LIFE_MS)
  }

  async find(account: string, resource: string, issuer?: string): Promise<StoredGrant | undefined> {
    return this.#reportSecrets(
      findNewestGrant(await this.#readRecord({ account, resource }), { account, resource, issuer }),
    )
  }

  async list(): Promise<readonly StoredGrant[]> {
    const stored: StoredGrant[] = []
    await this.#visitRecords((of, { grants }) => {
      for (const { issuer } of grants) {
        const grant = findNewestGrant({ grants, lost: [] }, { ...of, issuer })
        if (grant !== undefined) stored.push(grant)
      }
    })
    return stored.sort((a, b) => createSortKey(a).localeCompare(createSortKey(b)))
  }

  async listLost(of?: Pick<GrantKey, 'account' | 'resource'>): Promise<readonly LostGrant[]> {
    const lostGrants: LostGrant[] = []
    const addLost = ({ account, resource }: Pick<GrantKey, 'account' | 'resource'>, { lost }: GrantRecord): void =>
      void lostGrants.push(
        ...lost.map(({ issuer, at, why, caller }) => ({
          ...{ account, resource, issuer, at, why },
          ...(caller === undefined ? {} : { caller }),
        })),
      )
    if (of === undefined) await this.#visitRecords(addLost)
    else addLost(of, await this.#readRecord(of))
    return lostGrants
  }

  async put(key: GrantKey, grant: NewGrant, over?: number): Promise<number | undefined> {
    this.#reportSecrets(grant)
    if (!(await this.#index.updateEntry(pickRecordKey(key), 'granted')))
      throw vaultError('GW_VAULT_FULL', { max: MAX_GRANTS })
    return this.#changeRecord(key, over === undefined, record => {
      const before = findGeneration(record, key.issuer)
      if (over !== undefined && over !== before) return { result: undefined }
      const generation = nextGeneration(record, this.now())
      const sticky = over === undefined ? {} : pickStickyMembers(record, key.issuer)
      const complete = pickMembers({ ...sticky, ...grant })
      const next = addGrant(record, { issuer: key.issuer, generation, at: this.now(), grant: complete })
      return { result: generation, next }
    })
  }

  async remove(key: GrantKey, generation: number, reason?: string): Promise<boolean> {
    const isGone = await this.#changeRecord(key, false, record => {
      if (generation === 0 || findGeneration(record, key.issuer) !== generation) return { result: false }
      return { result: true, next: removeGrant(record, key.issuer, this.now(), reason) }
    })
    if (isGone) await this.#index.updateEntry(pickRecordKey(key), reason === undefined ? undefined : 'lost')
    return isGone
  }

  /** Keeps the generation, as the tokens are the same. */
  async addWantedScopes(
    account: string,
    resource: string,
    generation: number,
    scopes: readonly string[],
  ): Promise<void> {
    await this.#changeRecord({ account, resource }, false, record => {
      const stored = record.grants.find(one => one.generation === generation)
      if (stored === undefined) return { result: undefined }
      const scopesWanted = [...new Set([...(stored.grant.scopesWanted ?? []), ...scopes])].slice(0, MAX_WANTED)
      return {
        result: undefined,
        next: addGrant(record, { ...stored, grant: { ...stored.grant, scopesWanted } }),
      }
    })
  }

  getGrantTime(account: string, resource: string): number | undefined {
    const ats = (this.#records.get(recordKey({ account, resource }))?.grants ?? []).map(({ at }) => at)
    return ats.length === 0 ? undefined : Math.max(...ats)
  }

  /** Returns the latest counts, and starts a new count if they are old. */
  countCallers(resource: string): CallerCounts | undefined {
    if (this.#counted === undefined || this.#options.clock.now() - this.#counted.at > LOOK_MS) void this.#recount()
    const own = this.#counted?.all.filter(one => one.resource === resource && one.account !== GATEWAY_ACCOUNT)
    if (own === undefined) return undefined
    const listAccounts = (state: ListedLogin['state']): string[] =>
      own.filter(one => one.state === state).map(({ account }) => account)
    return { granted: listAccounts('granted').length, lost: listAccounts('lost') }
  }

  /** Changes when another replica reports a write, and periodically. */
  version(): Promise<number> {
    this.#subscribe()
    return Promise.resolve(this.#changes + Math.floor(this.#options.clock.now() / LOOK_MS))
  }

  close(): void {
    this.#end?.()
    this.#end = undefined
  }

  /** Reads a record; returns the cached one while the store is unavailable, as its token may still be valid. */
  async #readRecord(of: Pick<GrantKey, 'account' | 'resource'>): Promise<GrantRecord> {
    const { store } = this
    const key = recordKey(of)
    try {
      const sealed = await store.get(key)
      if (sealed === undefined) return this.#cacheRecord(key, EMPTY)
      const record = parseRecord(store.open(sealed, key))
      if (record === undefined) throw createDamagedError()
      return this.#cacheRecord(key, record)
    } catch (error) {
      const cached = isStoreAway(error) ? this.#records.get(key) : undefined
      if (cached === undefined) throw error
      return cached
    }
  }

  async #changeRecord<T>(
    of: Pick<GrantKey, 'account' | 'resource'>,
    isLogin: boolean,
    change: (record: GrantRecord) => { readonly result: T; readonly next?: GrantRecord },
  ): Promise<T> {
    const { store } = this
    const key = recordKey(of)
    let written: GrantRecord | undefined
    const result = await changeText(store, key, LIFE_MS, (text, isForeign) => {
      const record = parseRecord(text)
      // Only a new login may replace an unreadable record.
      if (record === undefined && (text !== undefined || isForeign) && !isLogin) throw createDamagedError()
      const changed = change(record ?? EMPTY)
      written = changed.next
      return { result: changed.result, next: written && JSON.stringify(written) }
    })
    if (written === undefined) return result
    this.#cacheRecord(key, written)
    this.#changes++
    this.#counted = undefined
    await store.publish(CHANGED, key).catch(() => undefined)
    return result
  }

  #cacheRecord(key: string, record: GrantRecord): GrantRecord {
    this.#records.set(key, record)
    return record
  }

  /** Subscribes with the first use. */
  #subscribe(): void {
    this.#end ??= this.store.subscribe(
      CHANGED,
      () => void this.#changes++,
      () => void this.#changes++,
    )
  }

  async #recount(): Promise<void> {
    if (this.#isCounting) return
    this.#isCounting = true
    try {
      this.#counted = { all: await this.#index.listAll(), at: this.#options.clock.now() }
    } catch {
      // Keep the previous counts.
    } finally {
      this.#isCounting = false
    }
  }

  async #visitRecords(
    handleRecord: (of: Pick<GrantKey, 'account' | 'resource'>, record: GrantRecord) => void,
  ): Promise<void> {
    const all = await this.#index.listAll()
    for (let at = 0; at < all.length; at += ALL_AT_ONCE) {
      const some = all.slice(at, at + ALL_AT_ONCE)
      const records = await Promise.all(some.map(of => this.#readRecord(of)))
      some.forEach(({ account, resource }, index) => {
        const record = records[index]
        if (record !== undefined) handleRecord({ account, resource }, record)
      })
    }
  }

  #reportSecrets<G extends NewGrant | undefined>(grant: G): G {
    const { onSecret } = this.#options
    for (const secret of [grant?.access, grant?.refresh, grant?.client.secret])
      if (secret !== undefined) onSecret?.(secret)
    return grant
  }
}

function createDamagedError(): Error {
  const why = 'a login was sealed for another account or with another key'
  return vaultError('GW_VAULT_SHARED', { why })
}

function isStoreAway(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'GW_SHARED_AWAY'
}

function pickRecordKey({ account, resource }: GrantKey): Pick<GrantKey, 'account' | 'resource'> {
  return { account, resource }
}

function createSortKey({ resource, account, issuer }: GrantKey): string {
  return JSON.stringify([resource, account, issuer])
}

/** Picks members that survive a renewal. */
function pickStickyMembers({ grants }: GrantRecord, issuer: string): Pick<NewGrant, 'caller' | 'scopesWanted'> {
  const { caller, scopesWanted } = grants.find(one => one.issuer === issuer)?.grant ?? {}
  return {
    ...(caller === undefined ? {} : { caller }),
    ...(scopesWanted === undefined ? {} : { scopesWanted }),
  }
}

/** Grant members without the key. */
const MEMBERS = Object.keys({
  access: true,
  audience: true,
  refresh: true,
  expiresAt: true,
  scopesRequested: true,
  scopesGranted: true,
  scopesWanted: true,
  caller: true,
  client: true,
} satisfies Record<keyof NewGrant, true>) as readonly (keyof NewGrant)[]

/** Picks known members only: callers may pass a stored grant with key and generation. */
function pickMembers(grant: NewGrant): NewGrant {
  const members = Object.fromEntries(MEMBERS.map(member => [member, grant[member]]))
  return JSON.parse(JSON.stringify(members)) as NewGrant
}
