import { readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { tryParseJson } from '../../util/plain-data.ts'
import { makeDirectory, writeFileAtomic } from '../../util/storage/files.ts'
import { withFileLock } from '../../util/storage/file-lock.ts'

/** Entry written by `gateway connect`, with the settings before and after it. */
export interface ConnectRecord {
  readonly client: string
  /** Settings file, with links resolved. */
  readonly file: string
  /** Entry name. */
  readonly name: string
  readonly entry: JsonObject
  /** Settings before the first connection; absent if there was no file. */
  readonly before?: string | undefined
  /** Written settings. If they are unchanged, undo restores the earlier ones byte for byte. */
  readonly after: string
}

type RecordKey = Pick<ConnectRecord, 'file' | 'name'>

/** Entries written by `gateway connect` for this user, in a file of the state directory that only the user can read. */
export class ConnectRecords {
  readonly #file: string

  constructor(directory: string) {
    this.#file = join(directory, 'connected.json')
  }

  async list(): Promise<readonly ConnectRecord[]> {
    const records = tryParseJson(await readFile(this.#file, 'utf8').catch(() => '[]'))
    return Array.isArray(records) ? (records.filter(isObject) as unknown as ConnectRecord[]) : []
  }

  async find({ file, name }: RecordKey): Promise<ConnectRecord | undefined> {
    return (await this.list()).find(one => one.file === file && one.name === name)
  }

  /** Replaces the record of an entry, or removes it. */
  async set({ file, name }: RecordKey, record: ConnectRecord | undefined): Promise<void> {
    await makeDirectory(dirname(this.#file), 0o700)
    await withFileLock(`${this.#file}.lock`, async () => {
      const others = (await this.list()).filter(one => one.file !== file || one.name !== name)
      const text = JSON.stringify(record === undefined ? others : [...others, record], undefined, 2)
      await writeFileAtomic(this.#file, Buffer.from(`${text}\n`), rename)
    })
  }
}
