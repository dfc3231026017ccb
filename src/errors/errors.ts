import type { ErrorEntry } from './table.ts'
import { ERRORS } from './table.ts'

export { ERRORS, type ErrorEntry }

/** A code of the gateway itself; plugins have tables of their own. */
export type ErrorCode = keyof typeof ERRORS

/** Errors by their code. */
export type ErrorTable = Readonly<Record<string, ErrorEntry>>

/** All known codes: the gateway's and those of installed plugins. */
const errorEntries = new Map<string, ErrorEntry>(Object.entries(ERRORS))

/** Adds a plugin's codes. */
export function addErrors(table: ErrorTable): void {
  for (const [code, entry] of Object.entries(table)) errorEntries.set(code, entry)
}

/** Finds a code's entry; undefined if unknown. */
export function findErrorEntry(code: unknown): ErrorEntry | undefined {
  return typeof code === 'string' ? errorEntries.get(code) : undefined
}

/** HTTP status for a code; undefined if unknown or without a status. */
export function getHttpStatus(code: unknown): number | undefined {
  return findErrorEntry(code)?.http
}

/** Failure reason, for any reader. */
export interface Reason {
  readonly why: string
  /** The server's message, which may contain secrets: for logs and the owner's terminal only. */
  readonly detail?: string | undefined
  /** A complete error, such as an authorizer's: passed on unchanged. */
  readonly error?: GatewayError | undefined
}

const SERVER_MESSAGE = '; last message: '

/** Formats a reason for the owner, including the server's message. */
export function describeReason({ why, detail }: Reason): string {
  return detail === undefined ? why : `${why}${SERVER_MESSAGE}${detail}`
}

/** Extracts the server's message from an owner's reason; undefined if there is none. */
export function extractServerMessage(reason: string): string | undefined {
  const at = reason.indexOf(SERVER_MESSAGE)
  return at === -1 ? undefined : reason.slice(at + SERVER_MESSAGE.length)
}

/** Formats an upstream's problem for the owner. */
export function getOwnerProblem(upstream: {
  readonly problem: string | undefined
  readonly problemDetail?: string | undefined
}): string | undefined {
  const { problem, problemDetail: detail } = upstream
  return problem === undefined ? undefined : describeReason({ why: problem, detail })
}

/** An expected error. Its message is for any reader, its `detail` for the owner only. */
export class GatewayError extends Error {
  readonly code: string
  readonly fields: Readonly<Record<string, unknown>>
  /** Its table entry. */
  readonly entry: ErrorEntry
  override readonly name = 'GatewayError'
  /** The server's message, for logs and the owner's terminal; never for callers. */
  detail: string | undefined

  constructor(
    code: string,
    fields: Record<string, unknown> = {},
    entry: ErrorEntry = findErrorEntry(code) ?? ERRORS.GW_INTERNAL,
  ) {
    super(fillTemplate(entry.text, fields), fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = code
    const { detail, ...otherFields } = fields
    this.fields = otherFields
    this.detail = typeof detail === 'string' ? detail : undefined
    this.entry = entry
  }

  /** Hint on how to fix it. */
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

/** True if the upstream needs a login; false if only one call needs more scopes. */
export function needsAuth(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.entry.state === 'needs_auth' && thrown.fields.ofCall !== true
}

/** Message of a thrown value, for any reader. */
export function getErrorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** Message of a thrown value for the owner, including the server's message. */
export function getOwnerReason(thrown: unknown): string {
  const detail = thrown instanceof GatewayError ? thrown.detail : undefined
  return describeReason({ why: getErrorMessage(thrown), detail })
}

/** Fills a template's fields. */
export function fillTemplate(text: string, fields: Readonly<Record<string, unknown>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = fields[name]
    return value === undefined ? placeholder : String(value)
  })
}
