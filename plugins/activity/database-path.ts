import { isAbsolute, join } from 'node:path'
import type { Config } from '../../src/plugin.ts'

/** Resolves the database path against the configuration directory. */
export function resolveDatabasePath({ file }: NonNullable<Config['activity']>, directory: string): string {
  return isAbsolute(file) ? file : join(directory, file)
}
