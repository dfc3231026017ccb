import { readFileSync, statSync } from 'node:fs'
import { win32 } from 'node:path'

/** A longer batch file is none of npm's. */
const LARGEST = 64 * 1024
const BATCH = /\.(cmd|bat)$/i
/** Scripts beside the batch file, as npm and its cmd-shim write them. */
const SCRIPT = /%(?:~dp0|dp0%)\\?([^"%\r\n]+\.[cm]?js)"/gi

/**
 * The script of Node behind a batch file that npm has written, such as npx.cmd. Node starts no batch file without a shell,
 * as nobody can quote for cmd.exe safely; the script takes its arguments as they are. Undefined for any other file.
 */
export function scriptBehind(file: string, files: BatchFiles = onDisk): string | undefined {
  if (!BATCH.test(file)) return undefined
  const text = files.read(file)
  const folder = win32.dirname(file)
  const name = win32.basename(file).replace(BATCH, '').toLowerCase()
  const scripts = [...text.matchAll(SCRIPT)].map(([, script = '']) => win32.resolve(folder, script))
  const [only, ...others] = new Set(scripts)
  // Those of npm itself name a second one, which finds out where npm was updated to.
  const own =
    others.length === 0
      ? only
      : scripts.find(script => win32.basename(script).toLowerCase().startsWith(`${name}-cli.`))
  return own !== undefined && files.isFile(own) ? own : undefined
}

/** Means by which files are looked at. */
interface BatchFiles {
  /** The text of a file; empty where it cannot be read. */
  readonly read: (file: string) => string
  readonly isFile: (file: string) => boolean
}

const onDisk: BatchFiles = {
  read(file) {
    try {
      return statSync(file).size > LARGEST ? '' : readFileSync(file, 'latin1')
    } catch {
      return ''
    }
  },
  isFile: file => statSync(file, { throwIfNoEntry: false })?.isFile() === true,
}
