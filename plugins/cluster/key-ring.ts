import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { openWithKey, sealWithKey } from '../../src/plugin.ts'
import { clusterError } from './errors.ts'

/** A configured key. */
export interface RingKey {
  readonly id: string
  readonly key: string
}

/** Key purposes; each has its own derived key. */
const PURPOSES = ['seal', 'directory', 'hand-on', 'id', 'digest', 'shared'] as const

type Purpose = (typeof PURPOSES)[number]

const BYTES = 32
/** Id tag length; long enough to prevent guessing. */
const ID_TAG_BYTES = 12
const HEX = /^([0-9a-f]{2})+$/i
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const VERSION = 'v1'
/** Decodes a key; undefined if it is too short or not random. */
export function keyBytes(text: string): Buffer | undefined {
  const trimmed = text.trim()
  const bytes = HEX.test(trimmed)
    ? Buffer.from(trimmed, 'hex')
    : BASE64.test(trimmed)
      ? Buffer.from(trimmed, 'base64')
      : undefined
  return bytes !== undefined && bytes.length >= BYTES ? bytes : undefined
}

/** The gateway's keys: the first one seals, all of them open. */
export class KeyRing {
  readonly #gateway: string
  #keys: readonly DerivedKey[] = []

  /** @throws GatewayError GW_CLUSTER_KEY */
  constructor(gateway: string, keys: readonly RingKey[]) {
    this.#gateway = gateway
    this.setKeys(keys)
  }

  /** Replaces the keys. Data sealed with a removed key becomes invalid. */
  setKeys(keys: readonly RingKey[]): void {
    this.#keys = keys.map(({ id, key }) => {
      const bytes = keyBytes(key)
      if (bytes === undefined) throw clusterError('GW_CLUSTER_KEY', { id })
      const derived = PURPOSES.map(purpose => {
        const info = `tapgate cluster ${purpose}`
        return [purpose, Buffer.from(hkdfSync('sha256', bytes, this.#gateway, info, BYTES))]
      })
      return { id, keys: Object.fromEntries(derived) as DerivedKey['keys'] }
    })
  }

  /** Derives the keys for a purpose, primary first. */
  deriveKeys(purpose: Purpose): readonly Buffer[] {
    return this.#keys.map(({ keys }) => keys[purpose])
  }

  /** Encrypts a value. */
  seal(purpose: Purpose, value: unknown, boundTo: string): string {
    const { id, keys } = this.#first
    return `${VERSION}.${id}.${sealWithKey(keys[purpose], value, boundTo)}`
  }

  /** Decrypts a value; undefined if it is invalid or has another purpose. */
  open(purpose: Purpose, sealed: string, boundTo: string): unknown {
    const [version, id, text = ''] = sealed.split('.', 3)
    const key = this.#keys.find(one => one.id === id)
    if (version !== VERSION || key === undefined) return undefined
    return openWithKey(key.keys[purpose], text, boundTo)
  }

  /** Creates an unforgeable id with a prefix; forged ids are rejected without a lookup. */
  newId(prefix: string): string {
    const id = prefix + randomBytes(24).toString('base64url')
    return id + computeTag(this.#first.keys.id, id).toString('base64url')
  }

  isOurs(id: string): boolean {
    const length = (ID_TAG_BYTES / 3) * 4
    const tag = Buffer.from(id.slice(-length), 'base64url')
    if (tag.length !== ID_TAG_BYTES) return false
    return this.#keys.some(({ keys }) => timingSafeEqual(computeTag(keys.id, id.slice(0, -length)), tag))
  }

  /** Returns a keyed digest. */
  digest(text: string): string {
    return computeTag(this.#first.keys.digest, text).toString('hex').slice(0, 12)
  }

  get #first(): DerivedKey {
    const [first] = this.#keys
    if (first === undefined) throw clusterError('GW_CLUSTER_KEY', { id: '' })
    return first
  }
}

interface DerivedKey {
  readonly id: string
  readonly keys: Readonly<Record<Purpose, Buffer>>
}

function computeTag(key: Buffer, id: string): Buffer {
  return createHmac('sha256', key).update(id).digest().subarray(0, ID_TAG_BYTES)
}
