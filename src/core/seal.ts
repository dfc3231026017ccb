import type { KeyObject } from 'node:crypto'
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'
import type { Handles, SealingKeys } from '../api/index.ts'
import { isObject } from '../protocol/json/json.ts'
import { splitReplicaPrefix, formatReplicaPrefix } from '../protocol/replica-ids.ts'
import { getSteadyTime } from '../util/clock.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
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
    if (replicaId === undefined || !unwrapExpiring(value)) return encryptWithKey(key, value, boundTo)
    return `${formatReplicaPrefix(replicaId)}${encryptWithKey(key, value, `${replicaId} ${boundTo}`)}`
  }

  /** Opens a value; undefined unless it was sealed here for the same purpose. */
  openValue(sealed: string, boundTo: string): unknown {
    if (this.#shared === undefined) return decryptWithKey(this.#key, sealed, boundTo)
    const prefixed = splitReplicaPrefix(sealed)
    const text = prefixed === undefined ? sealed : prefixed.value
    const purpose = prefixed === undefined ? boundTo : `${prefixed.replicaId} ${boundTo}`
    for (const key of [...this.#shared.keys, this.#key]) {
      const opened = decryptWithKey(key, text, purpose)
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

const objects = new WeakMap<Uint8Array, KeyObject>()

/** Converts a key once: Node's conversion from bytes costs more than the cipher. */
function getKeyObject(key: Uint8Array): KeyObject {
  let keyObject = objects.get(key)
  if (keyObject === undefined) objects.set(key, (keyObject = createSecretKey(key)))
  return keyObject
}

function encryptWithKey(key: Uint8Array, value: unknown, boundTo: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', getKeyObject(key), nonce).setAAD(Buffer.from(boundTo))
  const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
}

function decryptWithKey(key: Uint8Array, sealed: string, boundTo: string): unknown {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length <= NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
  const decipher = createDecipheriv('aes-256-gcm', getKeyObject(key), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(boundTo)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
    return JSON.parse(text.toString('utf8')) as unknown
  } catch {
    return undefined
  }
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
