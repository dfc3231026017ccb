import { EXIT_CODES, getExitCode } from '../src/errors/table.ts'
import { mergeErrorTables } from '../src/gateway/builtins.ts'

const HEADER = `<!-- Generated from src/errors and plugins/*/errors.ts by \`npm run gen\`. Do not edit. -->

# Errors

All errors of the gateway, in the order of \`src/errors/table.ts\`, followed by those of its plugins. Words in braces are placeholders. Errors are logged with their code; commands
exit with the exit code, and requests are answered with the JSON-RPC code, or with the HTTP status if no JSON-RPC answer is possible. A dash means that it does not apply.

## Exit codes

Each exit code of \`gateway\` has one meaning.

| exit | meaning |
|---|---|
${Object.entries(EXIT_CODES)
  .map(([code, meaning]) => `| ${code} | ${meaning} |`)
  .join('\n')}

## Codes

| code | message | what to do | exit | HTTP | JSON-RPC |
|---|---|---|---|---|---|
`

interface Row {
  readonly text: string
  readonly hint: string
  readonly exit?: number
  readonly http?: number
  readonly rpc?: number
}

/** Generates docs/reference/errors.md. */
export function errorsReference(): string {
  const rows = Object.entries<Row>(mergeErrorTables()).map(([code, row]) => {
    const cells = [`\`${code}\``, prose(row.text), prose(row.hint), getExitCode(row), row.http, row.rpc]
    return `| ${cells.map(cell => cell ?? '–').join(' | ')} |\n`
  })
  return HEADER + rows.join('')
}

// Escapes angle brackets, pipes and line breaks.
function prose(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', '<br>')
}
