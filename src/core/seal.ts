import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { steadyTime } from '../util/clock.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Nothing else begins like it. */
const UNTIL = 'until '

/**
 * Opaque values that we hand out and read back: AES-256-GCM, bound to what they were made for.
 *
 * ```ts
 * const cursor = seal.close({ offset: 100 }, 'tools/list|anonymous')
 * seal.open(cursor, 'tools/list|anonymous') // { offset: 100 }
 * ```
 */
export class Seal {
  readonly #key: Buffer
  readonly #now: () => number

  /** `now` is milliseconds since 1970: another process, which has another clock, may have the same key. */
  constructor(key: Buffer = randomBytes(32), now: () => number = steadyTime) {
    this.#key = key
    this.#now = now
  }

  /** The same, for so many milliseconds. */
  closeFor(ms: number, value: unknown, boundTo: string): string {
    return this.close({ value, until: this.#now() + ms }, `${UNTIL}${boundTo}`)
  }

  /** Opens what `closeFor` closed; undefined once its time is over. */
  openInTime(sealed: string, boundTo: string): unknown {
    const opened = this.open(sealed, `${UNTIL}${boundTo}`) as { value: unknown; until: number } | undefined
    return opened !== undefined && opened.until >= this.#now() ? opened.value : undefined
  }

  close(value: unknown, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(boundTo))
    const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
  }

  /** The value, or undefined for anything that this seal did not close for the same purpose. */
  open(sealed: string, boundTo: string): unknown {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length <= NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES), {
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
}
