import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { makeDirectory, writeFileAtomic } from '../../util/storage/files.ts'
import { withFileLock } from '../../util/storage/file-lock.ts'

/** Entry written by `gateway connect`, with the data to undo it. */
export interface ConnectRecord {
  readonly client: string
  /** Settings file, with links resolved. */
  readonly file: string
  /** Entry name. */
  readonly name: string
  readonly entry: JsonObject
  /** SHA-256 digest of the written file. If it is unchanged, undo restores the backup byte for byte. */
  readonly written: string
  /** Backup file; absent if there was no previous file. */
  readonly backup?: string
  /** ISO 8601. */
  readonly at: string
}

/** Entries written by `gateway connect` for this user, stored in the state directory. */
export class ConnectRecords {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  get #file(): string {
    return join(this.#directory, 'connected.json')
  }

  async list(): Promise<readonly ConnectRecord[]> {
    return parseRecords(await readFile(this.#file, 'utf8').catch(() => '[]')) ?? []
  }

  async find(file: string, name: string): Promise<ConnectRecord | undefined> {
    return (await this.list()).find(one => one.file === file && one.name === name)
  }

  add(connected: ConnectRecord): Promise<void> {
    return this.#update(all => [...excludeRecord(all, connected), connected])
  }

  remove(connected: ConnectRecord): Promise<void> {
    return this.#update(all => excludeRecord(all, connected))
  }

  /** Saves a copy of the settings, readable only by this user. */
  async saveBackup(client: string, bytes: Buffer, at: string): Promise<string> {
    const file = join(this.#directory, 'backups', `${client}-${at.replace(/[:.]/g, '-')}`)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, bytes, { mode: 0o600 })
    return file
  }

  /** Updates the records under a lock. Moves an unreadable file aside, since it may be needed for undo. */
  async #update(change: (all: readonly ConnectRecord[]) => readonly ConnectRecord[]): Promise<void> {
    const file = this.#file
    await makeDirectory(this.#directory, 0o700)
    await withFileLock(`${file}.lock`, async () => {
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        if (isObject(error) && error.code === 'ENOENT') return undefined
        throw error
      })
      const existing = text === undefined ? [] : parseRecords(text)
      if (existing === undefined) await rename(file, `${file}.unreadable`)
      await writeFileAtomic(file, Buffer.from(`${JSON.stringify(change(existing ?? []), undefined, 2)}\n`), rename)
    })
  }
}

function excludeRecord(all: readonly ConnectRecord[], { file, name }: ConnectRecord): ConnectRecord[] {
  return all.filter(one => one.file !== file || one.name !== name)
}

/** Parses the records; undefined if the text is invalid. */
function parseRecords(text: string): readonly ConnectRecord[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? (value.filter(isObject) as unknown as ConnectRecord[]) : undefined
  } catch {
    return undefined
  }
}

export function hashBytes(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
