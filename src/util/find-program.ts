import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { win32 } from 'node:path'
import type { Platform } from './platform.ts'
import { getPlatform } from './platform.ts'

/** A longer batch file is none of npm's. */
const MAX_BYTES = 64 * 1024
const BATCH = /\.(cmd|bat)$/i
/** Scripts beside the batch file, as npm and its cmd-shim write them. */
const SCRIPT = /%(?:~dp0|dp0%)\\?([^"%\r\n]+\.[cm]?js)"/gi

/**
 * The script of Node behind a batch file that npm has written, such as npx.cmd. Node starts no batch file without a shell,
 * as nobody can quote for cmd.exe safely; the script takes its arguments as they are. Undefined for any other file.
 */
export function findNodeScript(file: string, files: FileDeps = diskFiles): string | undefined {
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
interface FileDeps {
  /** The text of a file; empty where it cannot be read. */
  readonly read: (file: string) => string
  readonly isFile: (file: string) => boolean
}

const diskFiles: FileDeps = {
  read(file) {
    try {
      return statSync(file).size > MAX_BYTES ? '' : readFileSync(file, 'latin1')
    } catch {
      return ''
    }
  },
  isFile: file => statSync(file, { throwIfNoEntry: false })?.isFile() === true,
}

/** Folders that the system itself looks in where there is no PATH. */
const DEFAULT_PATH = ['/usr/local/bin', '/usr/bin', '/bin']
/** Endings that Windows tries, in its order. */
const EXTENSIONS = ['.com', '.exe', '.bat', '.cmd']

/** System on which programs are looked for: this one, if nothing else is said. */
export interface ProgramSearchDeps {
  readonly platform: Platform
  readonly isProgram: (file: string) => boolean
}

/** The file that a command stands for, as the system would find it in these folders; undefined when there is none. */
export function findProgram(
  command: string,
  folders: readonly string[] | undefined,
  cwd: string,
  { platform, isProgram }: ProgramSearchDeps = createDefaultDeps(),
): string | undefined {
  const { path, hasModes } = platform
  const isPlace = hasModes ? command.includes('/') : /[\\/]/.test(command)
  const places = isPlace ? [''] : (folders ?? (hasModes ? DEFAULT_PATH : []))
  const names = hasModes ? [command] : listExtensions(command).map(ending => `${command}${ending}`)
  for (const place of places)
    for (const name of names) {
      const file = path.resolve(cwd, place, name)
      if (isProgram(file)) return file
    }
  return undefined
}

function listExtensions(command: string): readonly string[] {
  return EXTENSIONS.some(ending => command.toLowerCase().endsWith(ending)) ? [''] : EXTENSIONS
}

function createDefaultDeps(): ProgramSearchDeps {
  const platform = getPlatform()
  return { platform, isProgram: file => isFile(file, platform.hasModes) }
}

function isFile(file: string, hasModes: boolean): boolean {
  try {
    if (hasModes) accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
