import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const VERSION = 1
const NONCE = 12
const TAG = 16
const HEAD = 1 + NONCE + TAG

/** Seals values for rows of a database, so that neither their content nor their place can be changed. */
export class RowSeal {
  /** As an object: what Node makes of bytes costs more than the cipher. */
  readonly #key: KeyObject

  /** `secret` is any text or bytes that are hard to guess. */
  constructor(secret: Buffer) {
    this.#key = createSecretKey(
      Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), 'tapgate grants 1', 32)),
    )
  }

  /** `place` names the table and the key columns of the row: nowhere else the value can be opened. */
  seal(value: unknown, place: readonly (string | number)[]): Buffer {
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG })
    cipher.setAAD(placeBytes(place))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed])
  }

  /** Undefined for what was not sealed with this key for this place. */
  open(sealed: Uint8Array, place: readonly (string | number)[]): unknown {
    if (sealed.length < HEAD || sealed[0] !== VERSION) return undefined
    const nonce = sealed.subarray(1, 1 + NONCE)
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG })
    decipher.setAAD(placeBytes(place))
    decipher.setAuthTag(sealed.subarray(1 + NONCE, HEAD))
    try {
      return JSON.parse(
        `${decipher.update(sealed.subarray(HEAD), undefined, 'utf8')}${decipher.final('utf8')}`,
      )
    } catch {
      return undefined
    }
  }
}

/** A digest to look something up by that nobody should find in the file. */
export function lookupOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

function placeBytes(place: readonly (string | number)[]): Buffer {
  return Buffer.from(JSON.stringify(place))
}
