import { createHash } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import type { LoadedConfig } from '../../config/index.ts'
import type { Terminal } from '../output/terminal.ts'

const DIGITS = 16

/** Directory that keeps what is known of the servers of a configuration file; undefined where there is no file, or no home. */
export function stateDirectory(
  { file }: Pick<LoadedConfig, 'file'>,
  { environment }: Pick<Terminal, 'environment'>,
): string | undefined {
  const base = baseOf(environment)
  if (file === undefined || base === undefined) return undefined
  return join(base, 'tapgate', createHash('sha256').update(file).digest('hex').slice(0, DIGITS))
}

/** As the XDG base directory specification has it: a relative path is no path. */
function baseOf({ XDG_STATE_HOME, LOCALAPPDATA, HOME }: Terminal['environment']): string | undefined {
  if (XDG_STATE_HOME !== undefined && isAbsolute(XDG_STATE_HOME)) return XDG_STATE_HOME
  if (LOCALAPPDATA !== undefined && isAbsolute(LOCALAPPDATA)) return LOCALAPPDATA
  return HOME !== undefined && isAbsolute(HOME) ? join(HOME, '.local', 'state') : undefined
}
