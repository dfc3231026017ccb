import type { KeyObject } from 'node:crypto'
import { createCipheriv, createDecipheriv, createHash, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { loadKeyFile, getErrorMessage } from '../../../src/plugin.ts'
import { vaultError } from '../errors.ts'

const KEY_FILE = 'grants.key'
const BYTES = 32
/** Shorter keys are guessable. */
const MIN_LENGTH = 32

export interface KeySources {
  /** Key file from the owner. */
  readonly file?: string | undefined
  /** Runs a command that prints the key, such as `secret-tool lookup`; preferred over the file. */
  readonly command?: (() => Promise<string>) | undefined
  /** Base for a relative path. */
  readonly directory: string
  /** State directory for a generated key; undefined for a temporary key. */
  readonly state: string | undefined
}

/**
 * Loads the vault key. One in the state directory protects copies of the database, but not against processes that can
 * read all files of this user.
 * @throws GatewayError GW_VAULT_KEY
 */
export async function loadVaultKey({ file, command, directory, state }: KeySources): Promise<Buffer | undefined> {
  if (command !== undefined) return readProvidedKey('secrets.keyCommand', async () => Buffer.from(await command()))
  if (file !== undefined) {
    const path = isAbsolute(file) ? file : join(directory, file)
    return readProvidedKey(path, () => readFile(path))
  }
  if (state === undefined) return undefined
  const path = join(state, KEY_FILE)
  try {
    return await loadKeyFile(path, BYTES)
  } catch (cause) {
    throw vaultError('GW_VAULT_KEY', { file: path, why: getErrorMessage(cause), cause })
  }
}

async function readProvidedKey(from: string, read: () => Promise<Buffer>): Promise<Buffer> {
  try {
    return stripLineEnd(await read())
  } catch (cause) {
    throw vaultError('GW_VAULT_KEY', { file: from, why: getErrorMessage(cause), cause })
  }
}

/** Strips the trailing line feed that editors add. */
function stripLineEnd(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1').replace(/\r?\n$/, '')
  if (text.length < MIN_LENGTH) throw new Error(`a key must have at least ${MIN_LENGTH} characters`)
  return Buffer.from(text, 'latin1')
}

const CIPHER = 'aes-256-gcm'
const VERSION = 1
const NONCE = 12
const TAG = 16
const HEAD = 1 + NONCE + TAG

/** Seals database values, so that neither content nor row can be changed. */
export class RowSeal {
  /** A KeyObject is cheaper than converting bytes for each use. */
  readonly #key: KeyObject

  /** `secret`: any unguessable bytes. */
  constructor(secret: Buffer) {
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), 'tapgate grants 1', 32)))
  }

  /** `place`: table and key columns; the value can only be opened for this row. */
  seal(value: unknown, context: readonly (string | number)[]): Buffer {
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG })
    cipher.setAAD(encodePlace(context))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed])
  }

  /** Returns undefined if it was not sealed with this key for this row. */
  open(sealed: Uint8Array, context: readonly (string | number)[]): unknown {
    if (sealed.length < HEAD || sealed[0] !== VERSION) return undefined
    const nonce = sealed.subarray(1, 1 + NONCE)
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG })
    decipher.setAAD(encodePlace(context))
    decipher.setAuthTag(sealed.subarray(1 + NONCE, HEAD))
    try {
      return JSON.parse(`${decipher.update(sealed.subarray(HEAD), undefined, 'utf8')}${decipher.final('utf8')}`)
    } catch {
      return undefined
    }
  }
}

/** Hashes a secret for lookups, to keep it out of the file. */
export function hashLookupKey(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

function encodePlace(context: readonly (string | number)[]): Buffer {
  return Buffer.from(JSON.stringify(context))
}
