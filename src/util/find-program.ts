import { accessSync, constants, statSync } from 'node:fs'
import { platformOf, type Platform } from './platform.ts'

/** Folders that the system itself looks in where there is no PATH. */
const DEFAULT_PATH = ['/usr/local/bin', '/usr/bin', '/bin']
/** Endings that Windows tries, in its order. */
const ENDINGS = ['.com', '.exe', '.bat', '.cmd']

/** System on which programs are looked for: this one, if nothing else is said. */
export interface ProgramSite {
  readonly platform: Platform
  readonly isProgram: (file: string) => boolean
}

/** The file that a command stands for, as the system would find it in these folders; undefined when there is none. */
export function findProgram(
  command: string,
  folders: readonly string[] | undefined,
  cwd: string,
  { platform, isProgram }: ProgramSite = here(),
): string | undefined {
  const { path, hasModes } = platform
  const isPlace = hasModes ? command.includes('/') : /[\\/]/.test(command)
  const places = isPlace ? [''] : (folders ?? (hasModes ? DEFAULT_PATH : []))
  const names = hasModes ? [command] : endings(command).map(ending => `${command}${ending}`)
  for (const place of places)
    for (const name of names) {
      const file = path.resolve(cwd, place, name)
      if (isProgram(file)) return file
    }
  return undefined
}

function endings(command: string): readonly string[] {
  return ENDINGS.some(ending => command.toLowerCase().endsWith(ending)) ? [''] : ENDINGS
}

function here(): ProgramSite {
  const platform = platformOf()
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
