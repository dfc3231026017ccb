import { realpathSync, statSync, type Stats } from 'node:fs'
import path from 'node:path'
import { isObject } from '../../../src/plugin.ts'

const MAX_PATH = 4096
const MAX_FILES = 4096

/** Every file that a value of the configuration names: programs, scripts, keys, whatever key it stands at. */
export function filesNamedIn(value: unknown, directory: string): string[] {
  const found = new Set<string>()
  collect(value, [directory], found)
  return [...found]
}

function collect(value: unknown, folders: readonly string[], found: Set<string>): void {
  if (typeof value === 'string') return note(value, folders, found)
  if (Array.isArray(value)) return value.forEach(item => collect(item, folders, found))
  if (!isObject(value)) return
  // What runs elsewhere names its files from there.
  const { cwd } = value
  const [base = '.'] = folders
  const here = typeof cwd === 'string' && isPath(cwd) ? [base, path.resolve(base, cwd)] : folders
  for (const inner of Object.values(value)) collect(inner, here, found)
}

/** `--config=x` names a file, too. */
function note(text: string, folders: readonly string[], found: Set<string>): void {
  for (const name of [text, text.slice(text.indexOf('=') + 1)])
    for (const folder of folders) {
      const file = isPath(name) && found.size < MAX_FILES ? path.resolve(folder, name) : undefined
      if (file !== undefined && statOf(file)?.isFile() === true) found.add(file)
    }
}

function isPath(name: string): boolean {
  return name !== '' && name.length <= MAX_PATH && !name.includes('\0')
}

/** Where a path leads, links followed as far as it exists; for what cannot be looked at the path itself. */
export function realOrSame(file: string): string {
  const absolute = path.resolve(file)
  try {
    return realpathSync(absolute)
  } catch {
    const above = path.dirname(absolute)
    return above === absolute ? absolute : path.join(realOrSame(above), path.basename(absolute))
  }
}

/** What stays the same when something is moved, and never becomes something else's; undefined where nothing is. */
export function inodeOf(file: string): string | undefined {
  const stats = statOf(file)
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
