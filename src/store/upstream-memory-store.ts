import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Clock, Log, UpstreamMemory } from '../api/index.ts'
import { StateFile } from './state-file.ts'

/** File format. Files with other versions belong to other gateways and cause no warning. */
const FORMAT = 'tapgate-catalogue'
const VERSION = 1
const NAME = 'catalogue.json'
const MAX_BYTES = 32 * 1024 * 1024
/** Changes within this time share one write. */
const WRITE_DELAY_MS = 300

interface UpstreamMemoryStoreOptions {
  /** Absolute. Created with owner-only permissions before the first write. */
  readonly directory: string
  /** True to ignore state from earlier runs. */
  readonly fresh?: boolean | undefined
  readonly log: Log
  readonly clock: Clock
}

/**
 * Stored state for every upstream in one file: read once, written in the background. Several gateways may share it;
 * each writes its own entries and retains the others.
 */
export class UpstreamMemoryStore {
  readonly directory: string
  readonly #file: StateFile
  readonly #clock: Clock
  readonly #salt: string
  readonly #records: Map<string, UpstreamRecord>
  /** This gateway's upstreams; others are dropped with the next write. */
  readonly #names = new Set<string>()
  /** Upstreams with changes that are not in the file. */
  readonly #changed = new Set<string>()
  #cancelSave: (() => void) | undefined
  #saving: Promise<void> = Promise.resolve()

  private constructor(directory: string, file: StateFile, clock: Clock, { salt, records }: FileContents) {
    this.directory = directory
    this.#file = file
    this.#clock = clock
    this.#salt = salt
    this.#records = records
  }

  /** Reads the saved state; begins empty if there is none or it is unusable. Never rejects. */
  static async open({ directory, fresh, log, clock }: UpstreamMemoryStoreOptions): Promise<UpstreamMemoryStore> {
    const uid = process.getuid?.()
    const file = new StateFile({ path: join(directory, NAME), maxBytes: MAX_BYTES, uid, log })
    const nothing = {
      salt: randomBytes(16).toString('base64url'),
      records: new Map<string, UpstreamRecord>(),
    }
    if (fresh === true) return new UpstreamMemoryStore(directory, file, clock, nothing)
    const saved = await file.read()
    const contents = saved === undefined ? undefined : parseRecords(saved)
    if (saved !== undefined && contents === undefined) await file.setAside('invalid content')
    return new UpstreamMemoryStore(
      directory,
      file,
      clock,
      contents === undefined || contents === 'other' ? nothing : contents,
    )
  }

  /** Returns one upstream's memory; `spec` identifies the server as text, and only its digest is stored. */
  getMemory(name: string, spec: string): UpstreamMemory {
    const key = createHmac('sha256', this.#salt).update(spec).digest('base64url')
    this.#names.add(name)
    return {
      read: part => {
        const record = this.#records.get(name)
        return record?.key === key ? record.parts.get(part) : undefined
      },
      write: (part, value) => {
        const record = this.#records.get(name)
        const parts = new Map(record?.key === key ? record.parts : undefined)
        this.#records.set(name, { key, parts: parts.set(part, value) })
        this.#scheduleSave(name)
      },
      forget: () => {
        this.#records.delete(name)
        this.#scheduleSave(name)
      },
    }
  }

  /** Resolves when all changes are written, or writing failed. */
  async flush(): Promise<void> {
    if (this.#cancelSave !== undefined) this.#save()
    await this.#saving
  }

  #scheduleSave(name: string): void {
    this.#changed.add(name)
    this.#cancelSave ??= this.#clock.after(WRITE_DELAY_MS, () => this.#save())
  }

  #save(): void {
    this.#cancelSave?.()
    this.#cancelSave = undefined
    this.#saving = this.#saving.then(() => this.#write())
  }

  async #write(): Promise<void> {
    await this.#mergeFile()
    const records = [...this.#records].filter(([name]) => this.#names.has(name))
    await this.#file.write(serializeMemories({ salt: this.#salt, records: new Map(records) }))
  }

  /** Another gateway with the same configuration may have newer entries. */
  async #mergeFile(): Promise<void> {
    const saved = parseRecords(await this.#file.peek())
    if (saved === undefined || saved === 'other' || saved.salt !== this.#salt) return
    for (const [name, record] of saved.records) if (!this.#changed.has(name)) this.#records.set(name, record)
  }
}

/** One upstream's stored state while its key is unchanged. */
interface UpstreamRecord {
  readonly key: string
  readonly parts: ReadonlyMap<string, unknown>
}

/** File content. `salt` is part of every key, so that equal specs differ between machines. */
interface FileContents {
  readonly salt: string
  readonly records: Map<string, UpstreamRecord>
}

/** Serializes the contents ordered by name, so that equal contents give equal files. */
function serializeMemories({ salt, records }: FileContents): object {
  const upstreams = [...records]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { key, parts }]) => ({ name, key, parts: [...parts] }))
  return { format: FORMAT, version: VERSION, salt, upstreams }
}

/** Parses a document: `other` for another version; undefined if invalid. */
function parseRecords(value: unknown): FileContents | 'other' | undefined {
  if (!isObject(value) || value.format !== FORMAT) return undefined
  if (value.version !== VERSION) return 'other'
  const { salt, upstreams } = value
  if (typeof salt !== 'string' || !Array.isArray(upstreams)) return undefined
  const records = upstreams.map(parseRecord)
  return records.every(record => record !== undefined) ? { salt, records: new Map(records) } : undefined
}

function parseRecord(value: unknown): [string, UpstreamRecord] | undefined {
  if (!isObject(value)) return undefined
  const { name, key } = value
  const parts = parseParts(value.parts)
  return typeof name === 'string' && typeof key === 'string' && parts !== undefined ? [name, { key, parts }] : undefined
}

function parseParts(value: unknown): Map<string, unknown> | undefined {
  if (!Array.isArray(value)) return undefined
  const isPart = (entry: unknown): entry is [string, unknown] =>
    Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string'
  return value.every(isPart) ? new Map(value) : undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
