import { GatewayError, gatewayError, reasonOf } from '../../errors/errors.ts'
import { formatProblem, type Problem } from '../../config/problem.ts'
import type { Terminal } from './terminal.ts'
import { isUsageError, usageError, type CommandNames } from './usage-error.ts'

/** Tells people, or with --json programs, what went wrong; returns the exit code. */
export async function report(
  thrown: unknown,
  argv: readonly string[],
  terminal: Terminal,
  commandNames: CommandNames,
): Promise<number> {
  const error = await knownError(thrown, commandNames)
  if (wantsJson(argv)) terminal.out.line(JSON.stringify({ error: errorData(error) }, undefined, 2))
  else for (const line of errorLines(error, terminal)) terminal.err.line(line)
  return error.entry.exit ?? 1
}

/** The form of an error in `--json`. */
export function errorData(error: GatewayError): Record<string, unknown> {
  const { problems } = error.fields
  return {
    code: error.code,
    message: error.message,
    hint: error.hint,
    ...(problems === undefined ? {} : { problems }),
  }
}

/** One problem of the configuration on one line, its place made to stand out. */
export function problemLine(problem: Problem, { cwd, err }: Terminal): string {
  const text = formatProblem(problem, cwd)
  const place = problem.file === undefined ? '' : text.slice(0, text.indexOf(' '))
  const label = problem.severity === 'warning' ? `${err.paint('yellow', 'warning')} ` : ''
  return `  ${label}${err.paint('cyan', place)}${text.slice(place.length)}`
}

/** Whatever was thrown, as an error of the table. */
export async function knownError(thrown: unknown, commandNames: CommandNames): Promise<GatewayError> {
  if (thrown instanceof GatewayError) return thrown
  if (isUsageError(thrown)) return usageError(thrown, commandNames)
  if (isRpcFailure(thrown))
    return gatewayError('GW_REFUSED', { why: thrown.error.message, code: thrown.error.code })
  return gatewayError('GW_INTERNAL', { cause: thrown })
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end === -1 ? undefined : end).includes('--json')
}

function errorLines(error: GatewayError, terminal: Terminal): string[] {
  const { paint } = terminal.err
  const problems = (error.fields['problems'] ?? []) as readonly Problem[]
  return [
    `${paint(['bold', 'red'], 'error')} ${paint('dim', `${error.code}:`)} ${error.message}`,
    ...problems.map(problem => problemLine(problem, terminal)),
    ...causeLines(error),
    `${paint('dim', 'hint:')} ${error.hint}`,
  ]
}

// For our own bugs only: everything else says what is needed in its text.
function causeLines({ code, cause }: GatewayError): string[] {
  if (code !== 'GW_INTERNAL' || cause === undefined) return []
  return [`  ${cause instanceof Error ? (cause.stack ?? reasonOf(cause)) : reasonOf(cause)}`]
}

function isRpcFailure(thrown: unknown): thrown is Error & { error: { code: number; message: string } } {
  return thrown instanceof Error && thrown.name === 'RpcFailure' && 'error' in thrown
}
