import type { CatalogRow, Inspection, UpstreamStatus } from '../../api/gateway.ts'
import { type DescribedConfig, formatProblem } from '../../config/index.ts'
import { loadText } from '../load-text.ts'
import { oneLine } from '../output/plain-text.ts'
import { table, uncut } from '../output/table.ts'
import type { Output, Terminal } from '../output/terminal.ts'
import { knownText, offerText, stateText } from '../serve/summary.ts'
import { configLines } from './config-lines.ts'
import { relative } from 'node:path'

/** An inspection as people read it, section by section. */
export function inspectionLines(
  inspection: FullInspection,
  withOrigins: boolean,
  terminal: Terminal,
): string[] {
  const { out } = terminal
  const { file, files, catalog, withheld } = inspection
  const names = [...new Set([file, ...files])]
    .filter(name => name !== undefined)
    .map(name => relative(terminal.cwd, name))
  return [
    ...section(
      'config',
      names.join(' + '),
      configLines(inspection.config, inspection.origins, { withOrigins, out }),
      out,
    ),
    ...section('listeners', '', listenerLines(inspection, out), out),
    ...section('load', '', inspection.load === undefined ? [] : [`  ${loadText(inspection.load, out)}`], out),
    ...section('upstreams', '', upstreamLines(inspection, out), out),
    ...section('plugins', '', pluginLines(inspection, out), out),
    ...section('hooks', 'plugins in the order they run', hookLines(inspection, out), out),
    ...section('catalog', offerText(catalog), catalogLines(catalog, out), out),
    ...section('warnings', '', warningLines(inspection, terminal), out),
    ...section('withheld', 'owned by another upstream', withheldLines(withheld, out), out),
  ]
}

function section(title: string, note: string, lines: readonly string[], { paint }: Output): string[] {
  if (lines.length === 0) return []
  return [`${paint('bold', title)}${note === '' ? '' : `  ${paint('dim', note)}`}`, ...lines, '']
}

function listenerLines({ listeners }: Inspection, out: Output): string[] {
  return table(
    listeners.map(({ name, type, url, eras }) => [
      name,
      out.paint('cyan', type),
      [url ?? (type === 'http' ? 'on a free port' : ''), eras].filter(Boolean).join(' · '),
    ]),
    uncut(out),
    2,
  )
}

function upstreamLines({ upstreams, catalog }: Inspection, out: Output): string[] {
  const rows = upstreams.map(upstream => {
    const { name, type, state, problem, server, pid } = upstream
    const offers = offerText(catalog.filter(row => row.upstream === name))
    const about = [
      protocolText(upstream),
      server && oneLine(`${server.name} ${server.version}`),
      pid && `pid ${pid}`,
    ]
    const said = [state === 'ready' ? offers : '', ...about].filter(Boolean).join(' · ')
    const text = problem ?? (server === undefined ? '' : knownText(upstream, said))
    const told = [text, droppedText(upstream)].filter(Boolean).join(' · ')
    return [name, out.paint('cyan', type), stateText(state, out), told]
  })
  return table(rows, uncut(out), 2)
}

/** What it sent and nobody could be given: `dropped 2 progress, 1 response`. */
function droppedText({ dropped = {} }: UpstreamStatus): string | undefined {
  const counts = Object.entries(dropped).map(([kind, count]) => `${count} ${kind}`)
  return counts.length === 0 ? undefined : `dropped ${counts.join(', ')}`
}

function protocolText({ era, version }: UpstreamStatus): string | undefined {
  return version === undefined ? undefined : `${version} (${era})`
}

function pluginLines({ plugins }: Inspection, out: Output): string[] {
  return table(
    plugins.map(({ name, from }) => [name, out.paint('dim', from)]),
    out,
    2,
  )
}

function hookLines({ hooks }: Inspection, out: Output): string[] {
  const rows = Object.entries(hooks).map(([hook, taps]) => {
    const names = taps.map(({ plugin, stage, key }) => {
      const about = [key, stage === 'normal' ? undefined : stage].filter(Boolean).join(', ')
      return about === '' ? plugin : `${plugin} (${about})`
    })
    return [hook, names.join(' → ')]
  })
  return table(rows, uncut(out), 2)
}

function catalogLines(catalog: readonly CatalogRow[], out: Output): string[] {
  const rows = catalog.map(({ kind, name, upstream, original, description }) => [
    out.paint('dim', KIND_NAMES[kind]),
    oneLine(name),
    out.paint('cyan', upstream),
    oneLine([name.endsWith(original) ? '' : `(${original})`, description ?? ''].join(' ')),
  ])
  return table(rows, { ...out, width: out.width ?? 120 }, 2)
}

function withheldLines(withheld: Inspection['withheld'], out: Output): string[] {
  const rows = withheld.map(({ kind, name, upstream, owner }) => [
    out.paint('dim', KIND_NAMES[kind]),
    oneLine(name),
    out.paint('cyan', upstream),
    `owned by ${owner}`,
  ])
  return table(rows, out, 2)
}

function warningLines({ warnings, unmatched }: FullInspection, { cwd, out }: Terminal): string[] {
  return [...warnings, ...unmatched].map(
    problem => `  ${out.paint('yellow', 'warning')} ${formatProblem(problem, cwd)}`,
  )
}

const KIND_NAMES: Readonly<Record<CatalogRow['kind'], string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'template',
}

/** What `gateway inspect --json` prints. */
export interface FullInspection extends Inspection, DescribedConfig {}
