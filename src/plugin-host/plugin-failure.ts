import { execFile } from 'node:child_process'
import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Problem } from '../config/problem.ts'
import type { Finding } from '../util/finding.ts'
import type { ErrorCode, GatewayError } from '../errors/errors.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import { isPluginCode } from './plugin-code.ts'

/** Adds the position in the configuration files to a finding. */
export type LocateFinding = (finding: Finding) => Problem

type ProblemLocation = Pick<Problem, 'file' | 'line' | 'col'>
type PluginCode = Extract<ErrorCode, 'GW_PLUGIN_LOAD' | 'GW_PLUGIN_OPTIONS' | 'GW_PLUGIN_SETUP'>

/** A syntax check reads one file without running it. */
const CHECK_MS = 5000

/** Creates the error for an unusable plugin, with a position for each problem. */
export function createUnusablePluginError(
  code: PluginCode,
  plugin: string,
  problems: readonly Problem[],
  cause?: unknown,
): GatewayError {
  const reasons = problems.map(({ message, hint }) => (hint === undefined ? message : `${message} – ${hint}`))
  return gatewayError(code, { plugin, why: reasons.join('; '), problems, cause })
}

/** Adds an error's position in a plugin's file, or in one that it imports. */
export async function locateInPluginFile(thrown: unknown, url: string, problem: Problem): Promise<Problem> {
  const location =
    parseSyntaxLocation(thrown) ??
    parseFrameLocation(thrown, file => file === url) ??
    (await checkSyntaxLocation(thrown, url))
  return location === undefined ? problem : { ...problem, ...location }
}

/** Extracts the file, line and column that Node prints above a TypeScript syntax error or import error. */
function parseSyntaxLocation(thrown: unknown): ProblemLocation | undefined {
  return thrown instanceof SyntaxError ? parseMarkedLocation(thrown.stack ?? '') : undefined
}

/** Parses `/plugins/redact.ts:14`, the source lines and the `^` marker. */
function parseMarkedLocation(text: string): ProblemLocation | undefined {
  const [first = '', ...lines] = text.split('\n')
  const [, file, line] = /^(file:\/\/.+|\/.+|[A-Za-z]:[\\/].+):(\d+)$/.exec(first) ?? []
  if (file === undefined) return undefined
  const mark = lines.find(one => /^\s*\^+$/.test(one))
  return { file: getFilePath(file), line: Number(line), col: mark === undefined ? 1 : mark.indexOf('^') + 1 }
}

function parseFrameLocation(thrown: unknown, isOwn: (url: string) => boolean): ProblemLocation | undefined {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  for (const line of stack.split('\n')) {
    // A factory or an import may carry a query.
    const [, url = '', row, col] = /^ +at .*?(file:\/\/[^)?]+)\S*?:(\d+):(\d+)\)?$/.exec(line) ?? []
    if (isOwn(url)) return { file: getFilePath(url), line: Number(row), col: Number(col) }
  }
  return undefined
}

/** Runs Node's syntax check on a JavaScript file, because an import error has no position. */
async function checkSyntaxLocation(thrown: unknown, url: string): Promise<ProblemLocation | undefined> {
  if (!(thrown instanceof SyntaxError) || !url.startsWith('file:')) return undefined
  const text = await new Promise<string>(resolve =>
    execFile(process.execPath, ['--check', fileURLToPath(url)], { timeout: CHECK_MS }, (_, __, stderr) =>
      resolve(stderr),
    ),
  )
  return parseMarkedLocation(text)
}

/** Describes an error with its position in a plugin: `TypeError: no such tool at plugins/mine.ts:12:5`. */
export function describePluginError(thrown: unknown, directory: string): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const text = thrown.name === 'Error' || thrown.name === 'GatewayError' ? thrown.message : String(thrown)
  const { file = '', line, col } = parseFrameLocation(thrown, isPluginCode) ?? {}
  return line === undefined ? text : `${text} at ${relative(directory, file)}:${line}:${col}`
}

function getFilePath(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : fileURLToPath(pathToFileURL(file))
}

/** Formats `SyntaxError: Unexpected token ';'`; omits the name for plain errors. */
export function formatError(thrown: unknown): string {
  return thrown instanceof SyntaxError ? `${thrown.name}: ${thrown.message}` : getErrorMessage(thrown)
}
