import { realpathSync } from 'node:fs'
import path from 'node:path'
import { findProgram, globs } from '../../../src/plugin.ts'
import { agentError } from '../errors.ts'

/** Rules for the program of an agent: where it is looked for, and which ones may run. */
interface ProgramRules {
  /** Of the agent's own environment. */
  readonly searchPath: string | undefined
  /** The directory that relative commands are relative to. */
  readonly directory: string
  /** Globs that the real path must match; undefined lets any program run. */
  readonly commands: readonly string[] | undefined
  /** The place where the command was written, for people: `agents.list.gemini.command`. */
  readonly where: string
}

const MISSING = 'it is not there, or may not be executed'

/**
 * The file to run for an agent. With `commands` it is the real path, so that what was checked is what runs; without, it is
 * the file as it was found, as some programs look at their own name. @throws GatewayError GW_AGENT_COMMAND when there is
 * none, or it is not allowed
 */
export function programOf(command: string, { where, commands, searchPath, directory }: ProgramRules): string {
  // Relative folders would name other programs in the directory of each task.
  const folders = searchPath?.split(path.delimiter).filter(folder => path.isAbsolute(folder))
  const file = findProgram(command, folders, directory)
  if (file === undefined)
    throw agentError('GW_AGENT_COMMAND', { where, command, why: MISSING, missing: true })
  if (commands === undefined) return file
  const real = realpathSync(file)
  if (!globs(commands)(real))
    throw agentError('GW_AGENT_COMMAND', { where, command, why: `${real} matches none of agents.commands` })
  return real
}
