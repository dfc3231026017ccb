import { statSync, watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'
import { systemClock } from '../../util/clock.ts'

/** Time without changes before files count as complete. */
const DEBOUNCE_MS = 150

/** Kubernetes replaces this link when files of a mounted volume change. */
const KUBERNETES_LINK = '..data'

interface FileWatch {
  /** Replaces the watched files. */
  setFiles(files: readonly string[]): void
  close(): void
}

/**
 * Reports changes once the files have stopped changing. Watches directories, because most editors replace files instead
 * of writing them.
 */
export function watchFiles(changed: () => void, clock: Pick<typeof systemClock, 'after'> = systemClock): FileWatch {
  let watchers: FSWatcher[] = []
  let watched: readonly string[] = []
  /** Last reported state by file. */
  let reported: ReadonlyMap<string, string> = new Map()
  let cancelTimer: () => void = () => undefined
  const check = (): void => {
    const now = readStamps(watched)
    if (watched.every(file => now.get(file) === reported.get(file))) return
    reported = now
    changed()
  }
  const scheduleCheck = (): void => {
    cancelTimer()
    cancelTimer = clock.after(DEBOUNCE_MS, check)
  }
  const close = (): void => {
    cancelTimer()
    for (const watcher of watchers) watcher.close()
  }
  return {
    setFiles(files) {
      close()
      watched = files
      watchers = [...Map.groupBy(files, file => dirname(file))].map(([directory, own]) =>
        watchDirectory(directory, own, scheduleCheck),
      )
      reported = new Map([...readStamps(files), ...reported])
      // Detect changes between the old and new watchers.
      scheduleCheck()
    },
    close,
  }
}

function readStamps(files: readonly string[]): ReadonlyMap<string, string> {
  return new Map(files.map(file => [file, readStamp(file)]))
}

/** Returns the identity and version of a file, whose links are followed. */
function readStamp(file: string): string {
  try {
    const { size, mtimeMs, ino } = statSync(file)
    return `${size} ${mtimeMs} ${ino}`
  } catch {
    return 'missing'
  }
}

function watchDirectory(directory: string, files: readonly string[], onChange: () => void): FSWatcher {
  const names = new Set([KUBERNETES_LINK, ...files.map(file => basename(file))])
  const watcher = watch(directory, { persistent: false }, (_event, name) => {
    if (name === null || names.has(name)) onChange()
  })
  // Ignore a removed directory; the running configuration stays.
  return watcher.on('error', () => {})
}
