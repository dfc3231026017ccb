import { readFileSync } from 'node:fs'
import { HOOKS, type HookName } from '../src/hooks/hook-table.ts'

const SOURCE = new URL('../src/hooks/hook-taps.ts', import.meta.url)

const HEADER = `<!-- Generated from the comments of src/hooks/hook-taps.ts by \`npm run gen\`. Do not edit. -->

# Hooks

All hooks that [a plugin](../plugins.md) can tap. A bail hook stops at the first tap that returns a value; a waterfall hook passes the
return value of each tap to the next. Taps of an async hook may return promises. The samples are tested files in \`examples/hooks\`.
`

/** Matches an optional group comment, a doc comment and a signature. */
const MEMBER =
  /(?<group>(?:^ {2}\/\/ .*\n)*)\n?^ {2}\/\*\*\n(?<doc>(?:^ {3}\*.*\n)+?)^ {3}\*\/\n {2}(?<name>\w+): (?<signature>[^]*?)\n(?= {2}\/|\n|\})/gm

/** Generates docs/reference/hooks.md. */
export function hooksReference(withSamples: (markdown: string) => string): string {
  const source = readFileSync(SOURCE, 'utf8')
  const members = source.slice(source.indexOf('export interface HookTaps')).matchAll(MEMBER)
  const sections = [...members].map(({ groups = {} }) => groupOf(groups.group ?? '') + sectionOf(groups))
  return withSamples(HEADER + sections.join(''))
}

/** Group heading and introduction. */
function groupOf(comment: string): string {
  if (comment === '') return ''
  const [title = '', ...lines] = comment.replaceAll(/^ {2}\/\/ /gm, '').split('\n')
  return `\n## ${title}\n\n${lines.join('\n')}`
}

function sectionOf({ name = '', doc = '', signature = '' }: Record<string, string | undefined>): string {
  const text = doc
    .replaceAll(/^ {3}\* ?/gm, '')
    .replaceAll(/^(?:Runs|May change|If it throws):/gm, '**$&**')
    .replaceAll(/^@example (.*)$/gm, '<!-- snippet: $1 -->\n\n```ts\n```')
  const { kind, by } = HOOKS[name as HookName]
  const chosen = by === undefined ? '' : `, by ${by}`
  return `\n### \`${name}\`\n\n\`${signature.replaceAll(/\s+/g, ' ')}\` (${kind}${chosen})\n\n${text}`
}
