import { readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { keyFile, reasonOf } from '../../../src/plugin.ts'
import { vaultError } from './errors.ts'

const NAME = 'grants.key'
const BYTES = 32
/** Shorter ones can be guessed. */
const LEAST = 32

/** Places where the key may be. */
export interface KeyPlaces {
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
export async function vaultKey({ file, command, directory, state }: KeyPlaces): Promise<Buffer | undefined> {
  if (command !== undefined) return brought('secrets.keyCommand', async () => Buffer.from(await command()))
  if (file !== undefined) {
    const path = isAbsolute(file) ? file : join(directory, file)
    return brought(path, () => readFile(path))
  }
  if (state === undefined) return undefined
  const path = join(state, NAME)
  try {
    return await keyFile(path, BYTES)
  } catch (cause) {
    throw vaultError('GW_VAULT_KEY', { file: path, why: reasonOf(cause), cause })
  }
}

async function brought(from: string, read: () => Promise<Buffer>): Promise<Buffer> {
  try {
    return withoutLineEnd(await read())
  } catch (cause) {
    throw vaultError('GW_VAULT_KEY', { file: from, why: reasonOf(cause), cause })
  }
}

/** A key without the line end that editors put behind it. */
function withoutLineEnd(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1').replace(/\r?\n$/, '')
  if (text.length < LEAST) throw new Error(`a key has at least ${LEAST} characters`)
  return Buffer.from(text, 'latin1')
}
