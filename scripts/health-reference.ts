import { DOCTOR_FINDINGS } from '../src/cli/doctor/doctor-findings.ts'
import { mergeFindingTables } from '../src/gateway/builtins.ts'

const HEADER = `<!-- Generated from src/errors/health.ts and the \`health\` tables of plugins by \`npm run gen\`. Do not edit. -->

# Findings

Findings of \`gateway ps\`, \`gateway doctor\`, \`/readyz\`, \`/metrics\` and the verb \`health\`. Codes and levels are stable, so that
monitors and scripts can use them. Words in braces are placeholders. \`error\`: something does not work; \`warning\`: it may stop
working, or should be changed; \`info\`: for information.

| code | level | message | what to do |
|---|---|---|---|
`

/** Generates docs/reference/health.md. */
export function healthReference(): string {
  const rows = Object.entries({ ...mergeFindingTables(), ...DOCTOR_FINDINGS }).map(([code, { level, text, fix }]) => {
    const cells = [`\`${code}\``, level, prose(text), prose(fix)]
    return `| ${cells.join(' | ')} |\n`
  })
  return HEADER + rows.join('')
}

// Escapes angle brackets and pipes.
function prose(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
