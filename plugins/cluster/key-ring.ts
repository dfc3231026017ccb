import type { KeyObject } from 'node:crypto'
import { createHmac, createSecretKey, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { openWithKey, sealWithKey, tryParseJson } from '../../src/plugin.ts'
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
/** Maximum length of signed or sealed texts, which an attacker with Redis access could inflate. */
const MAX_LETTERS = 1_048_576

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

/** The gateway's keys: the first one signs and seals, all of them verify and open. */
export class KeyRing {
  readonly #gateway: string
  #keys: readonly DerivedKey[] = []

  /** @throws GatewayError GW_CLUSTER_KEY */
  constructor(gateway: string, keys: readonly RingKey[]) {
    this.#gateway = gateway
    this.setKeys(keys)
  }

  /** Replaces the keys. Data signed with a removed key becomes invalid. */
  setKeys(keys: readonly RingKey[]): void {
    this.#keys = keys.map(({ id, key }) => {
      const bytes = keyBytes(key)
      if (bytes === undefined) throw clusterError('GW_CLUSTER_KEY', { id })
      const keys = PURPOSES.map(purpose => {
        const derived = Buffer.from(hkdfSync('sha256', bytes, this.#gateway, `tapgate cluster ${purpose}`, BYTES))
        // Creating a key object from bytes costs as much as five MACs.
        return [purpose, { bytes: derived, mac: createSecretKey(derived) }]
      })
      return { id, keys: Object.fromEntries(keys) as DerivedKey['keys'] }
    })
  }

  /** Derives the keys for a purpose, primary first. */
  deriveKeys(purpose: Purpose): readonly Buffer[] {
    return this.#keys.map(({ keys }) => keys[purpose].bytes)
  }

  /** Signs a value, which remains readable. */
  sign(purpose: Purpose, value: unknown): string {
    const first = this.#first
    const text = Buffer.from(JSON.stringify(value)).toString('base64url')
    return [VERSION, first.id, computeMac(first.keys[purpose].mac, text).toString('base64url'), text].join('.')
  }

  /** Returns the value; undefined if the signature is invalid or has another purpose. */
  readSigned(purpose: Purpose, signed: string): unknown {
    if (signed.length > MAX_LETTERS) return undefined
    const [version, id, mac = '', text = '', ...rest] = signed.split('.', 5)
    const key = this.#keys.find(one => one.id === id)
    if (version !== VERSION || key === undefined || rest.length > 0) return undefined
    if (!isEqual(computeMac(key.keys[purpose].mac, text), Buffer.from(mac, 'base64url'))) return undefined
    return tryParseJson(Buffer.from(text, 'base64url').toString())
  }

  /** Encrypts a value. */
  seal(purpose: Purpose, value: unknown, boundTo: string): string {
    const first = this.#first
    return [VERSION, first.id, sealWithKey(first.keys[purpose].bytes, value, boundTo)].join('.')
  }

  /** Decrypts a value; undefined if it is invalid or has another purpose. */
  open(purpose: Purpose, sealed: string, boundTo: string): unknown {
    if (sealed.length > MAX_LETTERS) return undefined
    const [version, id, text = ''] = sealed.split('.', 3)
    const key = this.#keys.find(one => one.id === id)
    if (version !== VERSION || key === undefined) return undefined
    return openWithKey(key.keys[purpose].bytes, text, boundTo)
  }

  /** Creates an unforgeable id with a prefix; forged ids are rejected without a lookup. */
  newId(prefix: string): string {
    const id = prefix + randomBytes(24).toString('base64url')
    return id + computeTag(this.#first.keys.id.mac, id)
  }

  isOurs(id: string): boolean {
    const length = (ID_TAG_BYTES / 3) * 4
    const tag = Buffer.from(id.slice(-length))
    const tagged = id.slice(0, -length)
    return this.#keys.some(key => isEqual(Buffer.from(computeTag(key.keys.id.mac, tagged)), tag))
  }

  /** Returns a keyed digest. */
  digest(text: string): string {
    return computeMac(this.#first.keys.digest.mac, text).toString('hex').slice(0, 12)
  }

  get #first(): DerivedKey {
    const [first] = this.#keys
    if (first === undefined) throw clusterError('GW_CLUSTER_KEY', { id: '' })
    return first
  }
}

interface DerivedKey {
  readonly id: string
  readonly keys: Readonly<Record<Purpose, { readonly bytes: Buffer; readonly mac: KeyObject }>>
}

function computeMac(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function computeTag(key: KeyObject, id: string): string {
  return computeMac(key, id).subarray(0, ID_TAG_BYTES).toString('base64url')
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other)
}
