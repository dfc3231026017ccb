import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'
import { systemClock } from '../../util/clock.ts'

/** A file has come to rest when it was the same for so long. */
const REST_MS = 150
/** A file that is gone or empty is about to be written, for so long at most. */
const MAX_GAP_MS = 2000

/** A link that Kubernetes turns to a new directory, when the files behind those of a mounted volume have changed. */
const MOUNTED = '..data'

/** Tells when one of some files changed. */
interface FileWatch {
  /** Watches these files instead of those before. */
  over(files: readonly string[]): void
  close(): void
}

type Time = Pick<typeof systemClock, 'now' | 'after'>

/** Watches directories rather than files: most editors put a new file in the place of the old one. */
export function watchFiles(changed: () => void, clock: Time = systemClock): FileWatch {
  return new RestingFiles(changed, clock)
}

/** Tells of a change once, when no editor is in the middle of it: all files are there, not empty, and stay as they are. */
class RestingFiles implements FileWatch {
  readonly #changed: () => void
  #watchers: FSWatcher[] = []
  #files: readonly string[] = []
  /** The files as they were last told of; what a file was before it was watched is unknown. */
  #told: ReadonlyMap<string, Stamp> = new Map()
  #forget: () => void = () => undefined
  readonly #clock: Time

  constructor(changed: () => void, clock: Time) {
    this.#changed = changed
    this.#clock = clock
  }

  over(files: readonly string[]): void {
    this.#unwatch()
    this.#files = files
    const soon = (): void => this.#soon()
    this.#watchers = [...byDirectory(files)].map(([directory, names]) =>
      watchDirectory(directory, names, soon),
    )
    const now = readStamps(files)
    const known = [...now].map(([file, stamp]) => [file, this.#told.get(file) ?? stamp] as const)
    this.#told = new Map(known)
    // Changes made while the watchers were renewed were seen by none of them.
    if (!areSame(now, this.#told)) this.#soon()
  }

  close(): void {
    this.#forget()
    this.#unwatch()
  }

  #unwatch(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
  }

  #soon(since = this.#clock.now()): void {
    const before = readStamps(this.#files)
    this.#forget()
    this.#forget = this.#clock.after(REST_MS, () => this.#look(before, since))
  }

  #look(before: ReadonlyMap<string, Stamp>, since: number): void {
    const now = readStamps(this.#files)
    if (areSame(now, this.#told)) return
    // One that was not there before may stay away.
    const isWritten = [...now].every(([file, { size }]) => size > 0 || this.#told.get(file)?.size === 0)
    const isLate = this.#clock.now() - since > MAX_GAP_MS
    if (!areSame(now, before) || (!isWritten && !isLate)) return this.#soon(since)
    this.#told = now
    this.#changed()
  }
}

/** Stamp that tells one state of a file from another. A file that is not there has no size. */
interface Stamp {
  readonly size: number
  readonly mtimeMs: number
  readonly ino: number
}

const ABSENT: Stamp = { size: 0, mtimeMs: 0, ino: 0 }

function readStamps(files: readonly string[]): ReadonlyMap<string, Stamp> {
  return new Map(files.map(file => [file, readStamp(file)]))
}

function readStamp(file: string): Stamp {
  try {
    return statSync(file)
  } catch {
    return ABSENT
  }
}

function areSame(some: ReadonlyMap<string, Stamp>, others: ReadonlyMap<string, Stamp>): boolean {
  return [...some].every(([file, { size, mtimeMs, ino }]) => {
    const other = others.get(file)
    return other?.size === size && other.mtimeMs === mtimeMs && other.ino === ino
  })
}

function watchDirectory(directory: string, names: ReadonlySet<string>, soon: () => void): FSWatcher {
  const watcher = watch(directory, { persistent: false }, (_event, name) => {
    if (name === null || name === MOUNTED || names.has(name)) soon()
  })
  // A directory that was removed; the running configuration stays.
  return watcher.on('error', () => {})
}

function byDirectory(files: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const file of files) {
    const names = found.get(dirname(file)) ?? new Set()
    found.set(dirname(file), names.add(basename(file)))
  }
  return found
}
