import type { KeyObject } from 'node:crypto'
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { loadKeyFile, getErrorMessage } from '../../../src/plugin.ts'
import { vaultError } from '../errors.ts'

const KEY_FILE = 'grants.key'
const BYTES = 32
/** Shorter ones can be guessed. */
const MIN_LENGTH = 32

/** Places where the key may be. */
export interface KeySources {
  /** A file that the owner brings. */
  readonly file?: string | undefined
  /** Gives what a program of the owner's prints, such as `secret-tool lookup`; it goes before the file. */
  readonly command?: (() => Promise<string>) | undefined
  /** Base of a relative path. */
  readonly directory: string
  /** Directory in which a key is made where none is brought; undefined where nothing outlives this process. */
  readonly state: string | undefined
}

/**
 * The key of the vault. One in the state directory is as safe as that directory: it protects copies of the database and
 * what leaks of it, and not against who reads everything of this user.
 * @throws GatewayError GW_VAULT_KEY
 */
export async function loadVaultKey({
  file,
  command,
  directory,
  state,
}: KeySources): Promise<Buffer | undefined> {
  if (command !== undefined)
    return readProvidedKey('secrets.keyCommand', async () => Buffer.from(await command()))
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

/** A key without the line end that editors put behind it. */
function stripLineEnd(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1').replace(/\r?\n$/, '')
  if (text.length < MIN_LENGTH) throw new Error(`a key has at least ${MIN_LENGTH} characters`)
  return Buffer.from(text, 'latin1')
}

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
    cipher.setAAD(encodePlace(place))
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed])
  }

  /** Undefined for what was not sealed with this key for this place. */
  open(sealed: Uint8Array, place: readonly (string | number)[]): unknown {
    if (sealed.length < HEAD || sealed[0] !== VERSION) return undefined
    const nonce = sealed.subarray(1, 1 + NONCE)
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG })
    decipher.setAAD(encodePlace(place))
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
export function hashLookupKey(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

function encodePlace(place: readonly (string | number)[]): Buffer {
  return Buffer.from(JSON.stringify(place))
}
