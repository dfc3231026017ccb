import type { CatalogRow, Inspection, UpstreamStatus } from '../../api/gateway.ts'
import type { Kind } from '../../protocol/methods.ts'
import { plural } from '../../util/plain-text.ts'
import { formatTable, withoutWidth } from '../output/table.ts'
import type { TerminalOutput } from '../output/terminal.ts'

/** Nouns for catalog kinds. */
export const NOUNS: Readonly<Record<Kind, string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'template',
}

interface SummaryOptions {
  readonly asksForKey: boolean
}

/** Formats served upstreams and connection commands. */
export function formatSummary(
  inspection: Inspection,
  { asksForKey }: SummaryOptions,
  output: TerminalOutput,
): string[] {
  const url = inspection.listeners.find(listener => listener.url !== undefined)?.url
  const rows = inspection.upstreams.map(upstream => formatUpstreamCells(upstream, inspection.catalog, output))
  return [
    '',
    ...formatTable(rows, withoutWidth(output), 2),
    ...formatWithheldCount(inspection, output),
    '',
    ...(url === undefined ? [] : formatClientHint(url, asksForKey, output)),
  ]
}

/** Summarizes on one log line. */
export function createSummaryFields({ upstreams, catalog, withheld }: Inspection): Record<string, unknown> {
  const countRows = (kind: Kind): number => catalog.filter(row => row.kind === kind).length
  const missing = upstreams.filter(upstream => !isAvailable(upstream)).map(({ name }) => name)
  return {
    upstreams: upstreams.length,
    tools: countRows('tools'),
    prompts: countRows('prompts'),
    resources: countRows('resources'),
    ...(missing.length === 0 ? {} : { missing }),
    ...(withheld.length === 0 ? {} : { withheld: withheld.length }),
  }
}

/** True if calls can be handled; an idle upstream starts on demand. */
export function isAvailable({ state }: Pick<UpstreamStatus, 'state'>): boolean {
  return state === 'ready' || state === 'idle'
}

/** `14 tools, 4 prompts` */
export function formatOffers(rows: readonly CatalogRow[]): string {
  const kinds = Object.keys(NOUNS) as Kind[]
  const counts = kinds.map(kind => ({ kind, count: rows.filter(row => row.kind === kind).length }))
  const texts = counts.filter(({ count }) => count > 0).map(({ kind, count }) => plural(count, NOUNS[kind]))
  return texts.length === 0 ? 'nothing' : texts.join(', ')
}

export function formatState(state: UpstreamStatus['state'], output: TerminalOutput): string {
  return output.paint(state === 'ready' ? 'green' : state === 'failed' ? 'red' : 'yellow', state)
}

function formatUpstreamCells(
  upstream: UpstreamStatus,
  catalog: readonly CatalogRow[],
  output: TerminalOutput,
): string[] {
  const { name, state, problem } = upstream
  const rows = catalog.filter(row => row.upstream === name)
  // The catalog of an upstream that is still starting is unknown.
  const offers = rows.length === 0 && state !== 'ready' ? '' : formatOffers(rows)
  return [output.paint('bold', name), formatState(state, output), problem ?? markRemembered(upstream, offers)]
}

/** Marks values from an earlier run. */
export function markRemembered({ remembered }: Pick<UpstreamStatus, 'remembered'>, text: string): string {
  return [text, remembered === true ? 'from cache' : ''].filter(Boolean).join(' · ')
}

function formatWithheldCount({ withheld }: Inspection, output: TerminalOutput): string[] {
  if (withheld.length === 0) return []
  const text = `${plural(withheld.length, 'name')} withheld because another upstream already uses them; see gateway inspect`
  return [output.paint('yellow', `  ${text}`)]
}

function formatClientHint(url: string, asksForKey: boolean, output: TerminalOutput): string[] {
  const key = asksForKey ? ' --header "Authorization: Bearer <key>"' : ''
  const hint = '  <key> is an API key (gateway key new --name <name>) or a token of the configured issuer.'
  return [
    `  ${output.paint('bold', url)}`,
    '',
    output.paint('dim', '  Connect a client:'),
    `    claude mcp add --transport http gateway ${url}${key}`,
    ...(asksForKey ? [output.paint('dim', hint)] : []),
    '',
  ]
}
