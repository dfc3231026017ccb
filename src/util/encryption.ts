import type { KeyObject } from 'node:crypto'
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

const objects = new WeakMap<Uint8Array, KeyObject>()

/** Converts a key once: Node's conversion from bytes costs more than the cipher. */
function getKeyObject(key: Uint8Array): KeyObject {
  let keyObject = objects.get(key)
  if (keyObject === undefined) objects.set(key, (keyObject = createSecretKey(key)))
  return keyObject
}

/** Seals a value with AES-256-GCM, bound to a purpose or name. */
export function sealWithKey(key: Uint8Array, value: unknown, boundTo: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', getKeyObject(key), nonce).setAAD(Buffer.from(boundTo))
  const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
}

/** Opens a sealed value; undefined unless it was sealed with this key for the same purpose. */
export function openWithKey(key: Uint8Array, sealed: string, boundTo: string): unknown {
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
