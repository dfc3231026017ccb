import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors write a file in several steps. */
const SETTLE_MS = 100

/** Tells when one of some files changed. */
export interface FileWatch {
  /** Watches these files instead of those before. */
  over(files: readonly string[]): void
  close(): void
}

/** Watches directories rather than files: most editors put a new file in the place of the old one. */
export function watchFiles(changed: () => void): FileWatch {
  let watchers: FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  const soon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(changed, SETTLE_MS).unref()
  }
  const close = (): void => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
    watchers = []
  }
  const over = (files: readonly string[]): void => {
    close()
    watchers = [...byDirectory(files)].map(([directory, names]) => watchDirectory(directory, names, soon))
  }
  return { over, close }
}

function watchDirectory(directory: string, names: ReadonlySet<string>, soon: () => void): FSWatcher {
  const watcher = watch(directory, { persistent: false }, (_event, name) => {
    if (name === null || names.has(name)) soon()
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
