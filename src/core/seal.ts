import { randomBytes } from 'node:crypto'
import type { Handles, SealingKeys } from '../api/index.ts'
import { isObject } from '../protocol/json/json.ts'
import { splitReplicaPrefix, formatReplicaPrefix } from '../protocol/replica-ids.ts'
import { getSteadyTime } from '../util/clock.ts'
import { openWithKey, sealWithKey } from '../util/encryption.ts'

const EXPIRY_PREFIX = 'until '

/**
 * Opaque values for clients to return: AES-256-GCM, bound to a purpose.
 *
 * ```ts
 * const cursor = seal.sealValue({ offset: 100 }, 'tools/list|anonymous')
 * seal.openValue(cursor, 'tools/list|anonymous') // { offset: 100 }
 * ```
 */
export class Seal {
  readonly #key: Buffer
  readonly #now: () => number
  #shared: SealingKeys | undefined

  /** `now` is milliseconds since 1970: other processes with their own clocks may share the key. */
  constructor(key: Buffer = randomBytes(32), now: () => number = getSteadyTime) {
    this.#key = key
    this.#now = now
  }

  /** Seals with an expiry in milliseconds. */
  sealWithExpiry(ms: number, value: unknown, boundTo: string): string {
    return this.sealValue({ value, until: this.#now() + ms }, `${EXPIRY_PREFIX}${boundTo}`)
  }

  /** Opens a value from `sealWithExpiry`; undefined once it has expired. */
  openWithExpiry(sealed: string, boundTo: string): unknown {
    const opened = this.openValue(sealed, `${EXPIRY_PREFIX}${boundTo}`) as { value: unknown; until: number } | undefined
    return opened !== undefined && opened.until >= this.#now() ? opened.value : undefined
  }

  /**
   * Uses the keys shared by the processes of `sealing`. Values for one process, such as a parked call or a hosted
   * task, carry its replica id: not secret, but authenticated.
   */
  useSharedKeys(sealing: SealingKeys): void {
    this.#shared = sealing
  }

  sealValue(value: unknown, boundTo: string): string {
    const [key = this.#key] = this.#shared?.keys ?? []
    const replicaId = this.#shared?.replicaId
    if (replicaId === undefined || !unwrapExpiring(value)) return sealWithKey(key, value, boundTo)
    return `${formatReplicaPrefix(replicaId)}${sealWithKey(key, value, `${replicaId} ${boundTo}`)}`
  }

  /** Opens a value; undefined unless it was sealed here for the same purpose. */
  openValue(sealed: string, boundTo: string): unknown {
    if (this.#shared === undefined) return openWithKey(this.#key, sealed, boundTo)
    const prefixed = splitReplicaPrefix(sealed)
    const text = prefixed === undefined ? sealed : prefixed.value
    const purpose = prefixed === undefined ? boundTo : `${prefixed.replicaId} ${boundTo}`
    for (const key of [...this.#shared.keys, this.#key]) {
      const opened = openWithKey(key, text, purpose)
      if (opened !== undefined) return opened
    }
    return undefined
  }
}

function unwrapExpiring(value: unknown): boolean {
  if (!isObject(value)) return false
  // A value with an expiry is wrapped in an object.
  if (isObject(value.value)) return unwrapExpiring(value.value)
  if (value.at === 'gateway') return true
  return value.parked !== undefined || (isObject(value.place) && value.place.at === 'gateway')
}

/** Creates one plugin's handles. Each carries the replica id of its process. */
export function createHandles(seal: Seal, plugin: string): Handles {
  const bound = (owner: string): string => JSON.stringify(['handle', plugin, owner])
  return {
    seal: (key, owner, forMs) => seal.sealWithExpiry(forMs, { at: 'gateway', key }, bound(owner)),
    open: (handle, owner) => {
      const opened = seal.openWithExpiry(handle, bound(owner)) as { readonly key: string } | undefined
      return opened?.key
    },
  }
}
