import { ERRORS, type ErrorEntry } from './table.ts'

export { ERRORS }

export type ErrorCode = keyof typeof ERRORS

/** The HTTP status of an error of ours by its code; undefined for any other, and for errors that never reach HTTP. */
export function httpStatusOf(code: unknown): number | undefined {
  if (typeof code !== 'string' || !Object.hasOwn(ERRORS, code)) return undefined
  const entry: ErrorEntry = ERRORS[code as ErrorCode]
  return entry.http
}

/** What follows this in a text may hold secrets and other callers' arguments: it is for the log and the owner's terminal. */
export const OWNER_ONLY = '; it said last: '

/** Everything the gateway throws on purpose. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly fields: Readonly<Record<string, unknown>>
  override readonly name = 'GatewayError'

  constructor(code: ErrorCode, fields: Record<string, unknown> = {}) {
    super(fillIn(ERRORS[code].text, fields), fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = code
    this.fields = fields
  }

  /** The table's row for this error. */
  get entry(): ErrorEntry {
    return ERRORS[this.code]
  }

  /** What others may read: without what a server said on its stderr, which is for its owner. */
  get publicMessage(): string {
    const end = this.message.indexOf(OWNER_ONLY)
    return end < 0 ? this.message : this.message.slice(0, end)
  }

  /** Whether it says more to its owner than to others. */
  get isForOwner(): boolean {
    return this.message.includes(OWNER_ONLY)
  }

  /** What to do about it. */
  get hint(): string {
    return fillIn(this.entry.hint, this.fields)
  }
}

/** `throw gatewayError('GW_UPSTREAM_START', { upstream, why, cause })` */
export function gatewayError(code: ErrorCode, fields?: Record<string, unknown>): GatewayError {
  return new GatewayError(code, fields)
}

/** The text of anything thrown, for people. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

function fillIn(text: string, fields: Readonly<Record<string, unknown>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = fields[name]
    return value === undefined ? whole : String(value)
  })
}
