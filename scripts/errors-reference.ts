import { mergeErrorTables } from '../src/gateway/builtins.ts'

const HEADER = `<!-- Generated from src/errors/table.ts and plugins/*/errors.ts by \`npm run gen\`. Do not edit. -->

# Errors

Every error the gateway makes, in the order of \`src/errors/table.ts\`, and then those of its plugins. Words in braces are filled in where it happens. An error is logged with its code, ends a
command with the exit code, and answers a request with the JSON-RPC code, or with the HTTP status where that is the whole answer; a dash means that it never does.

| code | says | what to do | exit | HTTP | JSON-RPC |
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
    const cells = [`\`${code}\``, prose(row.text), prose(row.hint), row.exit, row.http, row.rpc]
    return `| ${cells.map(cell => cell ?? '–').join(' | ')} |\n`
  })
  return HEADER + rows.join('')
}

// Escapes angle brackets and pipes.
function prose(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
