import { isAbsolute, join } from 'node:path'
import type { Config } from '../../src/plugin.ts'

/** Finds the file. */
export function resolveDatabasePath({ file }: NonNullable<Config['activity']>, directory: string): string {
  return isAbsolute(file) ? file : join(directory, file)
}
