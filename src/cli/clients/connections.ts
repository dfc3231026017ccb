import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'
import { writeWhole } from '../../util/storage/write-whole.ts'

/** One entry that `gateway connect` has written, and how to take it back. */
export interface Connected {
  readonly client: string
  /** Where the settings really are. */
  readonly file: string
  /** Name of the entry. */
  readonly name: string
  readonly entry: JsonObject
  /** Digest of the file as it was written: while it is the same, the file before comes back byte for byte. */
  readonly written: string
  /** Copy of the file before; absent where there was none. */
  readonly backup?: string
  /** ISO 8601. */
  readonly at: string
}

/** Entries that `gateway connect` has written for this user, in a file of the state directory. */
export class Connections {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  get #file(): string {
    return join(this.#directory, 'connected.json')
  }

  async all(): Promise<readonly Connected[]> {
    const text = await readFile(this.#file, 'utf8').catch(() => '[]')
    try {
      const value: unknown = JSON.parse(text)
      return Array.isArray(value) ? (value.filter(isObject) as unknown as Connected[]) : []
    } catch {
      return []
    }
  }

  async find(file: string, name: string): Promise<Connected | undefined> {
    return (await this.all()).find(one => one.file === file && one.name === name)
  }

  async add(connected: Connected): Promise<void> {
    await this.#save([...(await this.#others(connected)), connected])
  }

  async remove(connected: Connected): Promise<void> {
    await this.#save(await this.#others(connected))
  }

  /** Keeps a copy of settings, for this user alone. */
  async keep(client: string, bytes: Buffer, at: string): Promise<string> {
    const file = join(this.#directory, 'backups', `${client}-${at.replace(/[:.]/g, '-')}`)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, bytes, { mode: 0o600 })
    return file
  }

  async #others({ file, name }: Connected): Promise<Connected[]> {
    return (await this.all()).filter(one => one.file !== file || one.name !== name)
  }

  async #save(all: readonly Connected[]): Promise<void> {
    await writeWhole(this.#file, Buffer.from(`${JSON.stringify(all, undefined, 2)}\n`), rename)
  }
}

export function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
