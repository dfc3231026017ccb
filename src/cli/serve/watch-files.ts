import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'
import { systemClock } from '../../util/clock.ts'

/** A file has come to rest when it was the same for so long. */
const DEBOUNCE_MS = 150
/** A file that is gone or empty is about to be written, for so long at most. */
const MAX_GAP_MS = 2000

/** A link that Kubernetes turns to a new directory, when the files behind those of a mounted volume have changed. */
const KUBERNETES_LINK = '..data'

/** Tells when one of some files changed. */
interface FileWatch {
  /** Watches these files instead of those before. */
  setFiles(files: readonly string[]): void
  close(): void
}

type WatchClock = Pick<typeof systemClock, 'now' | 'after'>

/** Watches directories rather than files: most editors put a new file in the place of the old one. */
export function watchFiles(changed: () => void, clock: WatchClock = systemClock): FileWatch {
  return new DebouncedFileWatch(changed, clock)
}

/** Tells of a change once, when no editor is in the middle of it: all files are there, not empty, and stay as they are. */
class DebouncedFileWatch implements FileWatch {
  readonly #changed: () => void
  #watchers: FSWatcher[] = []
  #files: readonly string[] = []
  /** The files as they were last told of; what a file was before it was watched is unknown. */
  #reported: ReadonlyMap<string, FileStamp> = new Map()
  #cancelTimer: () => void = () => undefined
  readonly #clock: WatchClock

  constructor(changed: () => void, clock: WatchClock) {
    this.#changed = changed
    this.#clock = clock
  }

  setFiles(files: readonly string[]): void {
    this.#unwatch()
    this.#files = files
    const soon = (): void => this.#scheduleCheck()
    this.#watchers = [...groupByDirectory(files)].map(([directory, names]) =>
      watchDirectory(directory, names, soon),
    )
    const now = readStamps(files)
    const known = [...now].map(([file, stamp]) => [file, this.#reported.get(file) ?? stamp] as const)
    this.#reported = new Map(known)
    // Changes made while the watchers were renewed were seen by none of them.
    if (!areStampsEqual(now, this.#reported)) this.#scheduleCheck()
  }

  close(): void {
    this.#cancelTimer()
    this.#unwatch()
  }

  #unwatch(): void {
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
  }

  #scheduleCheck(since = this.#clock.now()): void {
    const before = readStamps(this.#files)
    this.#cancelTimer()
    this.#cancelTimer = this.#clock.after(DEBOUNCE_MS, () => this.#check(before, since))
  }

  #check(before: ReadonlyMap<string, FileStamp>, since: number): void {
    const now = readStamps(this.#files)
    if (areStampsEqual(now, this.#reported)) return
    // One that was not there before may stay away.
    const isWritten = [...now].every(([file, { size }]) => size > 0 || this.#reported.get(file)?.size === 0)
    const isLate = this.#clock.now() - since > MAX_GAP_MS
    if (!areStampsEqual(now, before) || (!isWritten && !isLate)) return this.#scheduleCheck(since)
    this.#reported = now
    this.#changed()
  }
}

/** Stamp that tells one state of a file from another. A file that is not there has no size. */
interface FileStamp {
  readonly size: number
  readonly mtimeMs: number
  readonly ino: number
}

const ABSENT: FileStamp = { size: 0, mtimeMs: 0, ino: 0 }

function readStamps(files: readonly string[]): ReadonlyMap<string, FileStamp> {
  return new Map(files.map(file => [file, readStamp(file)]))
}

function readStamp(file: string): FileStamp {
  try {
    return statSync(file)
  } catch {
    return ABSENT
  }
}

function areStampsEqual(
  some: ReadonlyMap<string, FileStamp>,
  others: ReadonlyMap<string, FileStamp>,
): boolean {
  return [...some].every(([file, { size, mtimeMs, ino }]) => {
    const other = others.get(file)
    return other?.size === size && other.mtimeMs === mtimeMs && other.ino === ino
  })
}

function watchDirectory(directory: string, names: ReadonlySet<string>, soon: () => void): FSWatcher {
  const watcher = watch(directory, { persistent: false }, (_event, name) => {
    if (name === null || name === KUBERNETES_LINK || names.has(name)) soon()
  })
  // A directory that was removed; the running configuration stays.
  return watcher.on('error', () => {})
}

function groupByDirectory(files: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const file of files) {
    const names = found.get(dirname(file)) ?? new Set()
    found.set(dirname(file), names.add(basename(file)))
  }
  return found
}
