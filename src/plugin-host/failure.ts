import { execFile } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Problem } from '../config/problem.ts'
import type { Finding } from '../util/finding.ts'
import type { ErrorCode, GatewayError } from '../errors/errors.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'

/** Gives a finding its place in the files of the configuration. */
export type LocateFinding = (finding: Finding) => Problem

type ProblemLocation = Pick<Problem, 'file' | 'line' | 'col'>
type PluginCode = Extract<ErrorCode, 'GW_PLUGIN_LOAD' | 'GW_PLUGIN_OPTIONS' | 'GW_PLUGIN_SETUP'>

/** A syntax check reads one file and runs nothing of it. */
const CHECK_MS = 5000

/** The error of a plugin that cannot be used, with each problem at its place. */
export function createPluginFailure(
  code: PluginCode,
  plugin: string,
  problems: readonly Problem[],
  cause?: unknown,
): GatewayError {
  const why = problems.map(({ message, hint }) => (hint === undefined ? message : `${message} – ${hint}`))
  return gatewayError(code, { plugin, why: why.join('; '), problems, cause })
}

/** Says of what a plugin's file threw where in that file, or in one that it imports, it happened. */
export async function locateInPluginFile(thrown: unknown, url: string, problem: Problem): Promise<Problem> {
  const place =
    parseSyntaxLocation(thrown) ?? parseFrameLocation(thrown, url) ?? (await checkSyntaxLocation(thrown, url))
  return place === undefined ? problem : { ...problem, ...place }
}

/** Takes the file, line and column that Node writes above a syntax error of TypeScript, or of an import. */
function parseSyntaxLocation(thrown: unknown): ProblemLocation | undefined {
  return thrown instanceof SyntaxError ? parseMarkedLocation(thrown.stack ?? '') : undefined
}

/** Reads `/plugins/redact.ts:14`, the lines of code and the `^` under the fault. */
function parseMarkedLocation(text: string): ProblemLocation | undefined {
  const [first = '', ...lines] = text.split('\n')
  const [, file, line] = /^(file:\/\/.+|\/.+|[A-Za-z]:[\\/].+):(\d+)$/.exec(first) ?? []
  if (file === undefined) return undefined
  const mark = lines.find(one => /^\s*\^+$/.test(one))
  return { file: getFilePath(file), line: Number(line), col: mark === undefined ? 1 : mark.indexOf('^') + 1 }
}

function parseFrameLocation(thrown: unknown, url: string): ProblemLocation | undefined {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  for (const line of stack.split('\n')) {
    const [, file, row, col] = /^ +at .*?(file:\/\/[^)]+?):(\d+):(\d+)\)?$/.exec(line) ?? []
    // A factory or an import may carry a query.
    if (file?.split('?')[0] === url) return { file: getFilePath(url), line: Number(row), col: Number(col) }
  }
  return undefined
}

/** Asks Node where a JavaScript file is wrong: an import says only that it is. */
async function checkSyntaxLocation(thrown: unknown, url: string): Promise<ProblemLocation | undefined> {
  if (!(thrown instanceof SyntaxError) || !url.startsWith('file:')) return undefined
  const text = await new Promise<string>(resolve =>
    execFile(process.execPath, ['--check', fileURLToPath(url)], { timeout: CHECK_MS }, (_, __, stderr) =>
      resolve(stderr),
    ),
  )
  return parseMarkedLocation(text)
}

function getFilePath(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : fileURLToPath(pathToFileURL(file))
}

/** `SyntaxError: Unexpected token ';'`, without a word for errors of no kind of their own. */
export function formatError(thrown: unknown): string {
  return thrown instanceof SyntaxError ? `${thrown.name}: ${thrown.message}` : getErrorMessage(thrown)
}
