import type { Command } from '../command.ts'
import { findErrorEntry, GatewayError, gatewayError, getOwnerReason, getErrorMessage } from '../../errors/errors.ts'
import type { Problem } from '../../config/problem.ts'
import { formatProblem } from '../../config/problem.ts'
import { ERRORS, getExitCode } from '../../errors/table.ts'
import { isObject } from '../../protocol/json/json.ts'
import { sanitizeText } from '../../util/plain-text.ts'
import type { CommandFinding } from '../../api/command.ts'
import { createProblemFinding, formatReport } from './report.ts'
import type { Terminal } from './terminal.ts'

/** Prints an error as text, or as JSON with --json. Returns the exit code. */
export async function reportError(thrown: unknown, argv: readonly string[], terminal: Terminal): Promise<number> {
  const error = await toGatewayError(thrown)
  const report = formatReport(readFormat(argv), () => createErrorFindings(error), terminal.cwd)
  if (wantsJson(argv)) terminal.out.json({ error: createErrorJson(error) })
  else if (report !== undefined) terminal.out.line(report)
  else for (const line of formatError(error, terminal)) terminal.err.line(line)
  return getExitCode(error.entry)
}

function createErrorJson(error: GatewayError): Record<string, unknown> {
  const { problems } = error.fields
  const [cause] = formatCause(error)
  return {
    code: error.code,
    message: getOwnerReason(error),
    hint: error.hint,
    ...(problems === undefined ? {} : { problems }),
    ...(cause === undefined ? {} : { cause: cause.trim() }),
  }
}

/** Formats a configuration problem on one line with a highlighted location. */
export function formatProblemLine(problem: Problem, { cwd, err }: Terminal): string {
  const text = sanitizeText(formatProblem(problem, cwd))
  const location = problem.file === undefined ? '' : text.slice(0, text.indexOf(' '))
  const label = problem.severity === 'warning' ? `${err.paint('yellow', 'warning')} ` : ''
  return `  ${label}${err.paint('cyan', location)}${text.slice(location.length)}`
}

/** Converts any thrown value to a GatewayError. */
export async function toGatewayError(thrown: unknown): Promise<GatewayError> {
  if (thrown instanceof GatewayError) return thrown
  if (isUsageError(thrown)) return convertUsageError(thrown)
  if (isRpcFailure(thrown)) return convertRpcError(thrown.error)
  return gatewayError('GW_INTERNAL', { cause: thrown })
}

function wantsJson(argv: readonly string[]): boolean {
  return listOwnArguments(argv).includes('--json') || readFormat(argv) === 'json'
}

/** Lists the arguments before `--`. */
function listOwnArguments(argv: readonly string[]): readonly string[] {
  const end = argv.indexOf('--')
  return argv.slice(0, end === -1 ? undefined : end)
}

function readFormat(argv: readonly string[]): string | undefined {
  const own = listOwnArguments(argv)
  const at = own.indexOf('--format')
  return at >= 0 ? own[at + 1] : own.find(arg => arg.startsWith('--format='))?.slice('--format='.length)
}

function createErrorFindings(error: GatewayError): CommandFinding[] {
  const problems = (error.fields['problems'] ?? []) as readonly Problem[]
  const message = `${getOwnerReason(error)} (${error.hint})`
  return problems.length > 0 ? problems.map(createProblemFinding) : [{ rule: error.code, level: 'error', message }]
}

/** Formats an error; parts of it are untrusted text. */
function formatError(error: GatewayError, terminal: Terminal): string[] {
  const { paint } = terminal.err
  const problems = (error.fields['problems'] ?? []) as readonly Problem[]
  return [
    `${paint(['bold', 'red'], 'error')} ${paint('dim', `${error.code}:`)} ${sanitizeText(getOwnerReason(error))}`,
    ...problems.map(problem => formatProblemLine(problem, terminal)),
    ...formatCause(error),
    `${paint('dim', 'hint:')} ${sanitizeText(error.hint)}`,
  ]
}

// Only internal errors need the cause.
function formatCause({ code, cause }: GatewayError): string[] {
  if (code !== 'GW_INTERNAL' || cause === undefined) return []
  return [
    `  ${sanitizeText(cause instanceof Error ? (cause.stack ?? getErrorMessage(cause)) : getErrorMessage(cause))}`,
  ]
}

interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

function isRpcFailure(thrown: unknown): thrown is Error & { readonly error: RpcError } {
  return thrown instanceof Error && thrown.name === 'RpcFailure' && 'error' in thrown
}

const OWN_CODE = /^GW_[A-Z_]{1,60}$/

/** Keeps gateway error codes; other codes come from the server. */
function convertRpcError({ code, message, data }: RpcError): GatewayError {
  const own = isObject(data) ? data['code'] : undefined
  if (typeof own !== 'string' || !OWN_CODE.test(own)) return gatewayError('GW_REFUSED', { why: message, code })
  const hint = getHint(own) ?? `Run gateway errors ${own} for details.`
  const exit = getExitCode(findErrorEntry(own) ?? ERRORS.GW_REFUSED)
  return new GatewayError(own, { why: message }, { text: '{why}', hint, exit })
}

/** Returns a code's hint, unless it contains placeholders, whose values only the gateway has. */
function getHint(code: string): string | undefined {
  const hint = findErrorEntry(code)?.hint
  return hint?.includes('{') === true ? undefined : hint
}

/** oclif command-line error. */
interface UsageError extends Error {
  readonly oclif: { readonly exit?: number }
  readonly flags?: readonly string[]
  readonly args?: readonly { readonly name: string }[]
  readonly parse?: { readonly input?: { readonly flags?: Command['flags'] } }
}

function isUsageError(thrown: unknown): thrown is UsageError {
  return thrown instanceof Error && 'oclif' in thrown
}

/** Rewrites oclif's message and adds a suggestion. */
async function convertUsageError(error: UsageError): Promise<GatewayError> {
  const message = (await describeUnknownFlags(error)) ?? describeMissingArguments(error)
  return gatewayError('GW_USAGE', { what: message ?? rewriteOclifMessage(error.message) })
}

async function describeUnknownFlags({ flags, parse }: UsageError): Promise<string | undefined> {
  if (flags === undefined) return undefined
  const flagNames = Object.keys(parse?.input?.flags ?? {})
  const each = flags.map(async flag => `unknown flag ${flag}${await suggestFlag(flag, flagNames)}`)
  return (await Promise.all(each)).join('; ')
}

function describeMissingArguments({ message, args = [] }: UsageError): string | undefined {
  if (!message.startsWith('Missing')) return undefined
  return `missing: ${args.map(({ name }) => name.toUpperCase()).join(', ')}`
}

/** Compare without dashes, which make any two short flags similar. */
async function suggestFlag(flag: string, flagNames: readonly string[]): Promise<string> {
  const { findSimilar } = await import('../../util/suggest.ts')
  const similar = findSimilar((flag.split('=')[0] ?? flag).replace(/^-+/, ''), flagNames)
  return similar === undefined ? '' : ` – did you mean "--${similar}"?`
}

function rewriteOclifMessage(message: string): string {
  const lines = message
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !/^(See more help with|The following errors? occurred)/.test(line))
  const text = lines
    .join(' ')
    .replace(/^Parsing (--\S+) (\w)/, (_, flag: string, first: string) => `${flag}: ${first.toLowerCase()}`)
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}
