import { constants } from 'node:fs'
import { access, lstat, readFile, realpath, rename, stat } from 'node:fs/promises'
import { writeWhole } from '../../util/storage/files.ts'

const LARGEST = 4 * 1024 * 1024
const BOM = '\uFEFF'

/** The settings of a client as they are on disk. */
export interface SettingsFile {
  /** Where they really are: behind a symbolic link. */
  readonly path: string
  /** Without the byte order mark; undefined where there is no file yet. */
  readonly text: string | undefined
  readonly hasMark: boolean
  readonly mode: number
}

/**
 * Reads settings that are about to be edited.
 * @throws Error in words, when they are not a file of this user that can be written, or not UTF-8
 */
export async function readSettingsFile(file: string): Promise<SettingsFile> {
  const isThere = await lstat(file).then(
    () => true,
    (error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    },
  )
  if (!isThere) return { path: file, text: undefined, hasMark: false, mode: 0o600 }
  const path = await realpath(file).catch(() => {
    throw new Error('it is a link to nothing')
  })
  const found = await stat(path)
  if (!found.isFile()) throw new Error('it is no file')
  const own = process.geteuid?.()
  if (own !== undefined && found.uid !== own) throw new Error('it belongs to another user')
  if (found.size > LARGEST) throw new Error(`it is larger than ${LARGEST} bytes`)
  if ((found.mode & 0o200) === 0) throw new Error('it is read-only')
  await access(path, constants.W_OK).catch(() => {
    throw new Error('it cannot be written')
  })
  const text = textOf(await readFile(path))
  const hasMark = text.startsWith(BOM)
  return { path, text: hasMark ? text.slice(1) : text, hasMark, mode: found.mode & 0o777 }
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error('it is not UTF-8')
  }
}

/** Writes settings whole or not at all, with the mode they had. */
export async function writeSettingsFile({ path, hasMark, mode }: SettingsFile, text: string): Promise<void> {
  await writeWhole(path, Buffer.from(`${hasMark ? BOM : ''}${text}`), rename, mode)
}
