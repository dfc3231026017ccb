import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { win32 } from 'node:path'
import type { Platform } from './platform.ts'
import { getPlatform } from './platform.ts'

/** Maximum npm batch file size. */
const MAX_BYTES = 64 * 1024
const BATCH = /\.(cmd|bat)$/i
/** Scripts next to the batch file, as referenced by npm and its cmd-shim. */
const SCRIPT = /%(?:~dp0|dp0%)\\?([^"%\r\n]+\.[cm]?js)"/gi

/**
 * Finds the Node script in an npm batch file such as npx.cmd; undefined for other files. Node starts batch files only
 * with a shell, and cmd.exe cannot be quoted safely; the script takes its arguments verbatim.
 */
export function findNodeScript(file: string, files: FileDeps = diskFiles): string | undefined {
  if (!BATCH.test(file)) return undefined
  const text = files.read(file)
  const folder = win32.dirname(file)
  const name = win32.basename(file).replace(BATCH, '').toLowerCase()
  const scripts = [...text.matchAll(SCRIPT)].map(([, script = '']) => win32.resolve(folder, script))
  const [only, ...more] = new Set(scripts)
  // npm's own files also name a second script, which locates an updated npm.
  const own =
    more.length === 0 ? only : scripts.find(script => win32.basename(script).toLowerCase().startsWith(`${name}-cli.`))
  return own !== undefined && files.isFile(own) ? own : undefined
}

/** File access. */
interface FileDeps {
  /** Reads a file; returns an empty string on failure. */
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

/** Default folders without a PATH. */
const DEFAULT_PATH = ['/usr/local/bin', '/usr/bin', '/bin']
/** Windows executable extensions, in search order. */
const EXTENSIONS = ['.com', '.exe', '.bat', '.cmd']

/** Target system. Default: this one. */
export interface ProgramSearchDeps {
  readonly platform: Platform
  readonly isProgram: (file: string) => boolean
}

/** Finds the executable of a command as the system would, in these folders; undefined if not found. */
export function findProgram(
  command: string,
  folders: readonly string[] | undefined,
  cwd: string,
  { platform, isProgram }: ProgramSearchDeps = createDefaultDeps(),
): string | undefined {
  const { path, hasModes } = platform
  const isPlace = hasModes ? command.includes('/') : /[\\/]/.test(command)
  const directories = isPlace ? [''] : (folders ?? (hasModes ? DEFAULT_PATH : []))
  const names = hasModes ? [command] : listExtensions(command).map(ending => `${command}${ending}`)
  for (const directory of directories)
    for (const name of names) {
      const file = path.resolve(cwd, directory, name)
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
