import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { gatewayError, globs } from '../../../src/plugin.ts'

/** Where a program is looked for, and which ones may run. */
export interface ProgramRules {
  /** Of the agent's own environment. */
  readonly searchPath: string | undefined
  /** What relative commands are relative to. */
  readonly directory: string
  /** Globs that the real path must match; undefined lets any program run. */
  readonly commands: readonly string[] | undefined
  /** Where the command was written, for people: `agents.list.gemini.command`. */
  readonly where: string
}

const MISSING = 'it is not there, or may not be executed'
/** What the system itself looks in where there is no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'

/**
 * The file to run for an agent. With `commands` it is the real path, so that what was checked is what runs; without, it is
 * the file as it was found, as some programs look at their own name. @throws GatewayError GW_AGENT_COMMAND when there is
 * none, or it is not allowed
 */
export function findProgram(command: string, rules: ProgramRules): string {
  const { where, commands } = rules
  const file = candidates(command, rules).find(isProgram)
  if (file === undefined)
    throw gatewayError('GW_AGENT_COMMAND', { where, command, why: MISSING, missing: true })
  if (commands === undefined) return file
  const real = realpathSync(file)
  if (!globs(commands)(real))
    throw gatewayError('GW_AGENT_COMMAND', { where, command, why: `${real} matches none of agents.commands` })
  return real
}

function candidates(command: string, { searchPath, directory }: ProgramRules): string[] {
  if (command.includes('\0')) return []
  if (command.includes('/')) return [path.resolve(directory, command)]
  return (searchPath ?? DEFAULT_PATH)
    .split(':')
    .filter(folder => path.isAbsolute(folder))
    .map(folder => path.join(folder, command))
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
