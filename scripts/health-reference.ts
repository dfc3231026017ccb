import { DOCTOR_FINDINGS } from '../src/cli/doctor/doctor-findings.ts'
import { mergeFindingTables } from '../src/gateway/builtins.ts'

const HEADER = `<!-- Generated from src/errors/health.ts and the \`health\` tables of plugins by \`npm run gen\`. Do not edit. -->

# Findings

What \`gateway ps\`, \`gateway doctor\`, \`/readyz\`, \`/metrics\` and the verb \`health\` say of a gateway. Codes and levels stay: monitors
and scripts may read them. Words in braces are filled in where it happens. An \`error\` means that something does not work, a
\`warning\` that it will not or should not for long, \`info\` is for knowing.

| code | level | says | what to do |
|---|---|---|---|
`

/** Generates docs/reference/health.md. */
export function healthReference(): string {
  const rows = Object.entries({ ...mergeFindingTables(), ...DOCTOR_FINDINGS }).map(
    ([code, { level, text, fix }]) => {
      const cells = [`\`${code}\``, level, prose(text), prose(fix)]
      return `| ${cells.join(' | ')} |\n`
    },
  )
  return HEADER + rows.join('')
}

// Escapes angle brackets and pipes.
function prose(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
