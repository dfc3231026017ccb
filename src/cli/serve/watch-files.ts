import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'
import { systemClock } from '../../util/clock.ts'

/** Time without changes before a file counts as complete. */
const DEBOUNCE_MS = 150
/** Time limit for a missing or empty file, which an editor may be writing. */
const MAX_GAP_MS = 2000

/** Kubernetes replaces this link when files of a mounted volume change. */
const KUBERNETES_LINK = '..data'

interface FileWatch {
  /** Replaces the watched files. */
  setFiles(files: readonly string[]): void
  close(): void
}

type WatchClock = Pick<typeof systemClock, 'now' | 'after'>

/** Watches directories, because most editors replace files instead of writing them. */
export function watchFiles(changed: () => void, clock: WatchClock = systemClock): FileWatch {
  return new DebouncedFileWatch(changed, clock)
}

/** Reports a change once all files exist, are not empty and have stopped changing. */
class DebouncedFileWatch implements FileWatch {
  readonly #changed: () => void
  #watchers: FSWatcher[] = []
  #files: readonly string[] = []
  /** Last reported state. */
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
    const onChange = (): void => this.#scheduleCheck()
    this.#watchers = [...groupByDirectory(files)].map(([directory, names]) =>
      watchDirectory(directory, names, onChange),
    )
    const now = readStamps(files)
    const stamps = [...now].map(([file, stamp]) => [file, this.#reported.get(file) ?? stamp] as const)
    this.#reported = new Map(stamps)
    // Detect changes between the old and new watchers.
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
    // A file that was already missing may stay missing.
    const isWritten = [...now].every(([file, { size }]) => size > 0 || this.#reported.get(file)?.size === 0)
    const isLate = this.#clock.now() - since > MAX_GAP_MS
    if (!areStampsEqual(now, before) || (!isWritten && !isLate)) return this.#scheduleCheck(since)
    this.#reported = now
    this.#changed()
  }
}

/** File identity and version; a missing file has size 0. */
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

function areStampsEqual(some: ReadonlyMap<string, FileStamp>, others: ReadonlyMap<string, FileStamp>): boolean {
  return [...some].every(([file, { size, mtimeMs, ino }]) => {
    const other = others.get(file)
    return other?.size === size && other.mtimeMs === mtimeMs && other.ino === ino
  })
}

function watchDirectory(directory: string, names: ReadonlySet<string>, onChange: () => void): FSWatcher {
  const watcher = watch(directory, { persistent: false }, (_event, name) => {
    if (name === null || name === KUBERNETES_LINK || names.has(name)) onChange()
  })
  // Ignore a removed directory; the running configuration stays.
  return watcher.on('error', () => {})
}

function groupByDirectory(files: readonly string[]): Map<string, Set<string>> {
  const namesByDirectory = new Map<string, Set<string>>()
  for (const file of files) {
    const names = namesByDirectory.get(dirname(file)) ?? new Set()
    namesByDirectory.set(dirname(file), names.add(basename(file)))
  }
  return namesByDirectory
}
