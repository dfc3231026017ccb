import type { ErrorEntry, ErrorTable } from '../../errors/errors.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import { EXIT_CODES, getExitCode } from '../../errors/table.ts'
import { mergeErrorTables } from '../../gateway/builtins.ts'
import type { Plugin } from '../../plugin.ts'
import { findSimilar } from '../../util/suggest.ts'
import type { SourceFlags } from '../load-source.ts'
import { importConfiguredPlugins } from '../plugin-commands.ts'
import { formatTable } from '../output/table.ts'
import type { TerminalOutput, Terminal } from '../output/terminal.ts'

interface ErrorRow extends ErrorEntry {
  readonly code: string
}

/** Lists all errors, including those of configured plugins. Plugin failures are printed on stderr. */
export async function listErrors(flags: SourceFlags, terminal: Terminal): Promise<ErrorRow[]> {
  const table: ErrorTable = mergeErrorTables(await loadConfiguredPlugins(flags, terminal))
  return Object.entries(table).map(([code, entry]) => ({ code, ...entry }))
}

/** @throws GatewayError GW_USAGE if the code is unknown */
export function findError(code: string, all: readonly ErrorRow[]): ErrorRow[] {
  const matches = all.filter(row => row.code === code.toUpperCase())
  if (matches.length > 0) return matches
  const suggestion = findSimilar(
    code,
    all.map(row => row.code),
  )
  const hint = suggestion === undefined ? '' : ` – did you mean "${suggestion}"?`
  throw gatewayError('GW_USAGE', { what: `no error code "${code}"${hint}` })
}

/** Formats a table, or a single error's details. */
export function formatErrors(rows: readonly ErrorRow[], out: TerminalOutput): string[] {
  const [only, ...more] = rows
  if (only === undefined || more.length > 0)
    return formatTable(
      rows.map(({ code, text }) => [out.paint('bold', code), text]),
      out,
    )
  const { code, text, hint, http, rpc } = only
  const exit = getExitCode(only)
  // Errors that no command reports have none.
  const exitCode = exit === 1 && only.exit === undefined ? undefined : `${exit}: ${EXIT_CODES[exit] ?? ''}`
  const facts = Object.entries({ 'exit code': exitCode, HTTP: http, 'JSON-RPC': rpc })
  return [
    `${out.paint('bold', code)} ${text}`,
    hint,
    ...facts.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`])),
  ]
}

/** An invalid configuration or plugin must not prevent error look-up. */
async function loadConfiguredPlugins(flags: SourceFlags, terminal: Terminal): Promise<Plugin<never>[]> {
  const { err } = terminal
  try {
    return await importConfiguredPlugins(flags, terminal)
  } catch (error) {
    const isMissing = (error as { code?: unknown }).code === 'GW_CONFIG_NOT_FOUND'
    if (!isMissing || flags.config !== undefined)
      err.line(`${err.paint('yellow', 'warning')} errors of plugins are missing: ${getErrorMessage(error)}`)
    return []
  }
}
