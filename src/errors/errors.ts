import type { ErrorEntry } from './table.ts'
import { ERRORS } from './table.ts'

export { ERRORS, type ErrorEntry }

/** A code of the gateway itself; plugins have theirs in tables of their own. */
export type ErrorCode = keyof typeof ERRORS

/** Errors by their code. */
export type ErrorTable = Readonly<Record<string, ErrorEntry>>

/** Every row that this process has heard of: ours, and those of the plugins that it has installed. */
const errorEntries = new Map<string, ErrorEntry>(Object.entries(ERRORS))

/** Adds the rows of a plugin, so that other processes and plugins can speak of its errors by their code. */
export function addErrors(table: ErrorTable): void {
  for (const [code, entry] of Object.entries(table)) errorEntries.set(code, entry)
}

/** The row of a code; undefined for what is none of ours. */
export function findErrorEntry(code: unknown): ErrorEntry | undefined {
  return typeof code === 'string' ? errorEntries.get(code) : undefined
}

/** The HTTP status of an error of ours by its code; undefined for any other, and for errors that never reach HTTP. */
export function getHttpStatus(code: unknown): number | undefined {
  return findErrorEntry(code)?.http
}

/** Why something failed or ended, in words for anybody. */
export interface Reason {
  readonly why: string
  /** Message of the server. It may hold secrets and other callers' arguments: it is for logs and the owner's terminal. */
  readonly detail?: string | undefined
  /** An error that says it all, such as that of an authorizer: it is passed on as it is. */
  readonly error?: GatewayError | undefined
}

const SERVER_MESSAGE = '; it said last: '

/** A reason as its owner reads it: with what the server said. */
export function describeReason({ why, detail }: Reason): string {
  return detail === undefined ? why : `${why}${SERVER_MESSAGE}${detail}`
}

/** Words of the server in a reason as its owner reads it; undefined where there are none. */
export function extractServerMessage(reason: string): string | undefined {
  const at = reason.indexOf(SERVER_MESSAGE)
  return at === -1 ? undefined : reason.slice(at + SERVER_MESSAGE.length)
}

/** The problem of an upstream as its owner reads it. */
export function getOwnerProblem(upstream: {
  readonly problem: string | undefined
  readonly problemDetail?: string | undefined
}): string | undefined {
  const { problem, problemDetail: detail } = upstream
  return problem === undefined ? undefined : describeReason({ why: problem, detail })
}

/** Everything the gateway throws on purpose. Its message is for anybody, its `detail` for the owner alone. */
export class GatewayError extends Error {
  readonly code: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The row of its table. */
  readonly entry: ErrorEntry
  override readonly name = 'GatewayError'
  /** Message of the server, for logs and the owner's terminal; never for callers, as it may hold secrets of others. */
  detail: string | undefined

  constructor(
    code: string,
    fields: Record<string, unknown> = {},
    entry: ErrorEntry = findErrorEntry(code) ?? ERRORS.GW_INTERNAL,
  ) {
    super(fillTemplate(entry.text, fields), fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = code
    const { detail, ...others } = fields
    this.fields = others
    this.detail = typeof detail === 'string' ? detail : undefined
    this.entry = entry
  }

  /** Advice on what to do about it. */
  get hint(): string {
    return fillTemplate(this.entry.hint, this.fields)
  }
}

/** `throw gatewayError('GW_UPSTREAM_START', { upstream, why, cause })` */
export function gatewayError(code: ErrorCode, fields?: Record<string, unknown>): GatewayError {
  return new GatewayError(code, fields)
}

/**
 * Makes the errors of a plugin, from the table that it has as `errors`.
 *
 * ```ts
 * const budgetError = defineErrors({ BUDGET_SPENT: { text: 'the budget of {caller} is spent', hint: 'Wait for tomorrow.', http: 429, rpc: -31001 } })
 * throw budgetError('BUDGET_SPENT', { caller })
 * ```
 */
export function defineErrors<T extends ErrorTable>(
  table: T,
): (code: keyof T & string, fields?: Record<string, unknown>) => GatewayError {
  return (code, fields) => new GatewayError(code, fields, table[code])
}

/** True where somebody must log in before an upstream can be used; not where one call alone wants more than the login allows. */
export function needsAuth(thrown: unknown): boolean {
  return (
    thrown instanceof GatewayError && thrown.entry.state === 'needs_auth' && thrown.fields.ofCall !== true
  )
}

/** The text of anything thrown, for anybody. */
export function getErrorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The same for the owner alone: with what a server said. */
export function getOwnerReason(thrown: unknown): string {
  const detail = thrown instanceof GatewayError ? thrown.detail : undefined
  return describeReason({ why: getErrorMessage(thrown), detail })
}

/** A text of a table, with its fields in place of the words in braces. */
export function fillTemplate(text: string, fields: Readonly<Record<string, unknown>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = fields[name]
    return value === undefined ? whole : String(value)
  })
}
