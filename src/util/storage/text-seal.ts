import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals texts that only who has the key can read or make. */
export class TextSeal {
  /** As an object: what Node makes of bytes costs more than the cipher. */
  readonly #key: KeyObject
  readonly #digestKey: KeyObject

  constructor(key: Uint8Array) {
    this.#key = keyFor('tapgate shared text', key)
    this.#digestKey = keyFor('tapgate shared digest', key)
  }

  /** Name of a text that says nothing of it, and that nobody else can make. */
  digest(text: string): string {
    return createHmac('sha256', this.#digestKey).update(text).digest('base64url')
  }

  seal(text: string, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(boundTo))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** The text; undefined for what was not sealed with this key for the same. */
  open(sealed: string, boundTo: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
    const cipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    cipher.setAAD(Buffer.from(boundTo)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    try {
      const text = Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), cipher.final()])
      return text.toString('utf8')
    } catch {
      return undefined
    }
  }
}

function keyFor(purpose: string, key: Uint8Array): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)))
}
