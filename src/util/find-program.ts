import { accessSync, constants, statSync } from 'node:fs'
import path from 'node:path'

/** Folders that the system itself looks in where there is no PATH. */
const DEFAULT_PATH = ['/usr/local/bin', '/usr/bin', '/bin']

/** The file that a command stands for, as the system would find it in these folders; undefined when there is none. Not for Windows. */
export function findProgram(
  command: string,
  folders: readonly string[] = DEFAULT_PATH,
  cwd: string,
): string | undefined {
  if (!command.includes('/')) return folders.map(folder => path.resolve(cwd, folder, command)).find(isProgram)
  const file = path.resolve(cwd, command)
  return isProgram(file) ? file : undefined
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
