import { existsSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import { DatabaseSync } from 'node:sqlite'
import type { CallRecord } from './call-record.ts'

const BUSY_MS = 2000

/** A call read from the database. */
export interface StoredCall extends Omit<CallRecord, 'times'> {
  readonly id: number
  /** Missing in files with the previous schema. */
  readonly times?: string
}

/** Search conditions, combined with AND. */
export interface CallFilter {
  /** Tool name; `*` is a wildcard. */
  readonly tool?: string | undefined
  readonly principal?: string | undefined
  /** True to select unsuccessful calls only. */
  readonly failed?: boolean | undefined
  /** Milliseconds since 1970. */
  readonly since?: number | undefined
  /** Select calls after this row id, oldest first. */
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** Call statistics per tool. */
export interface UsageRow {
  readonly name: string
  readonly upstream: string
  readonly calls: number
  readonly failures: number
  readonly callers: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly ms: number
  readonly last: number
}

const FINE = `'ok', 'input_required', 'task'`

/** Returns matching calls, newest first; none if the file is missing. */
export function queryCalls(path: string, filter: CallFilter): StoredCall[] {
  const { where, values } = buildConditions(filter)
  const order = filter.after === undefined ? 'DESC' : 'ASC'
  const text = `SELECT * FROM calls ${where} ORDER BY id ${order} LIMIT ?`
  return queryRows(path, text, [...values, filter.limit ?? 50]) as unknown as StoredCall[]
}

/** Returns all recorded names. */
export function queryNames(path: string): string[] {
  return queryRows(path, 'SELECT DISTINCT name FROM calls', []).map(({ name }) => String(name))
}

/** Returns statistics per tool, most called first. */
export function queryUsage(path: string, since: number): UsageRow[] {
  const text = `SELECT name, max(upstream) AS upstream, count(*) AS calls,
    sum(outcome NOT IN (${FINE})) AS failures, count(DISTINCT principal) AS callers,
    sum(bytesIn) AS bytesIn, sum(bytesOut) AS bytesOut, avg(ms) AS ms, max(at) AS last
    FROM calls WHERE method = 'tools/call' AND at >= ? GROUP BY name ORDER BY calls DESC, name`
  return queryRows(path, text, [since]) as unknown as UsageRow[]
}

function buildConditions({ tool, principal, failed, since, after }: CallFilter): {
  readonly where: string
  readonly values: SQLInputValue[]
} {
  const parts: [string, SQLInputValue?][] = []
  if (tool !== undefined) parts.push(['name GLOB ?', tool])
  if (principal !== undefined) parts.push(["json_extract(principal, '$[2]') = ?", principal])
  if (failed === true) parts.push([`outcome NOT IN (${FINE})`])
  if (since !== undefined) parts.push(['at >= ?', since])
  if (after !== undefined) parts.push(['id > ?', after])
  const where = parts.length === 0 ? '' : `WHERE ${parts.map(([text]) => text).join(' AND ')}`
  return { where, values: parts.flatMap(([, value]) => (value === undefined ? [] : [value])) }
}

function queryRows(path: string, text: string, values: SQLInputValue[]): Record<string, unknown>[] {
  if (!existsSync(path)) return []
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`)
    return database.prepare(text).all(...values)
  } finally {
    database.close()
  }
}
