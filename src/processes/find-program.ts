import { accessSync, constants, statSync } from 'node:fs'
import path from 'node:path'

/** What the system itself looks in where there is no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

/** The file that a command stands for, as the system would find it; undefined when there is none. Not for Windows. */
export function findProgram(
  command: string,
  searchPath: string | undefined,
  cwd: string,
): string | undefined {
  if (command.includes('/')) {
    const file = path.resolve(cwd, command)
    return isProgram(file) ? file : undefined
  }
  return (searchPath ?? DEFAULT_PATH)
    .split(':')
    .map(folder => path.resolve(cwd, folder, command))
    .find(isProgram)
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
