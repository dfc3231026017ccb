import { constants } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { globs, isObject, type JsonObject } from '../../../src/plugin.ts'

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'
const MAX_ARGS = 1024
const MAX_ARG_BYTES = 128 * 1024
const MAX_VARIABLES = 64

/** Variables that an agent may set: how a program looks and speaks, never what it loads or runs. */
const MAY_SET = globs([
  'CI',
  'TERM',
  'COLORTERM',
  'NO_COLOR',
  'FORCE_COLOR',
  'CLICOLOR',
  'CLICOLOR_FORCE',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'TZ',
  'COLUMNS',
  'LINES',
  'DEBIAN_FRONTEND',
  'NODE_ENV',
  'PYTHONUNBUFFERED',
])

/** Reads the program that an agent wants to run, as far as it is well formed. */
export interface TerminalRequest {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: unknown
  readonly outputByteLimit: number | undefined
}

/** The parameters of `terminal/create`; a text that says what is wrong with them otherwise. Variables it may not set are left out. */
export function terminalRequest(params: JsonObject): TerminalRequest | string {
  const { command, cwd } = params
  if (!isArgument(command) || command === '') return 'command is no text that a program could have'
  const args = params.args ?? []
  if (!isArguments(args)) return 'args is no list of texts that a program could have'
  const env = variablesOf(params.env ?? [])
  if (env === undefined) return 'env is no list of names with values'
  const limit = params.outputByteLimit ?? undefined
  if (limit !== undefined && !isCount(limit)) return 'outputByteLimit is no whole number'
  return { command, args, env, cwd, outputByteLimit: limit }
}

/** The real path of a program, found as the system would; undefined when there is none. */
export async function realProgram(
  command: string,
  searchPath: string | undefined,
  cwd: string,
): Promise<string | undefined> {
  const files = command.includes('/')
    ? [path.resolve(cwd, command)]
    : (searchPath ?? DEFAULT_PATH).split(':').map(folder => path.resolve(cwd, folder, command))
  for (const file of files) {
    const real = await programAt(file)
    if (real !== undefined) return real
  }
  return undefined
}

async function programAt(file: string): Promise<string | undefined> {
  try {
    const real = await realpath(file)
    await access(real, constants.X_OK)
    return (await stat(real)).isFile() ? real : undefined
  } catch {
    return undefined
  }
}

function isArgument(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0') && value.length <= MAX_ARG_BYTES
}

function isArguments(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= MAX_ARGS && value.every(isArgument)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0
}

function variablesOf(env: unknown): Record<string, string> | undefined {
  if (!Array.isArray(env) || env.length > MAX_VARIABLES) return undefined
  const variables = new Map<string, string>()
  for (const entry of env) {
    if (!isObject(entry) || typeof entry.name !== 'string' || !isArgument(entry.value)) return undefined
    if (MAY_SET(entry.name)) variables.set(entry.name, entry.value)
  }
  return Object.fromEntries(variables)
}
