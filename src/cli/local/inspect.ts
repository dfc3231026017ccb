import { relative } from 'node:path'
import type { CatalogRow, Inspection, UpstreamStatus } from '../../api/gateway.ts'
import type { DescribedConfig, DescribedValue, LoadedConfig } from '../../config/index.ts'
import { describeConfig, formatProblem } from '../../config/index.ts'
import { toYaml } from '../../config/source/plain-yaml.ts'
import { listLimitedEras } from '../../gateway/inspect.ts'
import { loadSource, getStateDirectory } from '../load-source.ts'
import type { TerminalOutput, Terminal } from '../output/terminal.ts'
import { createSilentLog } from '../serve/logs.ts'
import type { QueryFlags } from './gateway-handle.ts'
import { withGatewayHandle } from './gateway-handle.ts'
import { escapeUnprintable } from '../../util/log.ts'
import { formatLoad, listOtherEras } from '../output/format-findings.ts'
import { toOneLine } from '../../util/plain-text.ts'
import { formatTable, withoutWidth } from '../output/table.ts'
import { NOUNS, markRemembered, formatOffers, formatState } from '../serve/summary.ts'

/** `offline` starts nothing, `defaults` includes default values. */
type InspectFlags = QueryFlags & Readonly<Record<'offline' | 'defaults', boolean>>

/** Inspects the running gateway or a configuration. */
export async function inspectGateway(flags: InspectFlags, terminal: Terminal): Promise<ShownInspection> {
  const { written, ...inspection } = await inspectAll(flags, terminal)
  const origins = inspection.origins.filter(({ origin }) => origin !== 'default')
  return flags.defaults ? inspection : { ...inspection, config: written, origins }
}

async function inspectAll(flags: InspectFlags, terminal: Terminal): Promise<FullInspection> {
  if (flags.offline) return inspectOffline(await loadSource(flags, terminal, 'leave'), terminal)
  return withGatewayHandle(flags, terminal, async gateway => {
    const inspection = await gateway.inspect()
    const isOpen = inspection.listeners.length > 0
    return isOpen ? inspection : { ...inspection, listeners: configuredListeners(inspection.config) }
  })
}

async function inspectOffline(source: LoadedConfig, terminal: Terminal): Promise<FullInspection> {
  const { environment, cwd } = terminal
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway = await createGateway(source, {
    log: createSilentLog(),
    environment,
    state: getStateDirectory(source, terminal),
  })
  const inspection = await gateway.inspect()
  await gateway.close()
  return {
    ...describeConfig(source, cwd),
    ...inspection,
    listeners: configuredListeners(source.config),
  }
}

// Lists the configured addresses, since no listener is open.
function configuredListeners(config: unknown): Inspection['listeners'] {
  const { listeners } = config as Pick<LoadedConfig['config'], 'listeners'>
  return Object.entries(listeners).map(([name, listener]) => {
    const eras = listLimitedEras(name, config as LoadedConfig['config'])
    if (listener.type !== 'http' || listener.port === 0) return { name, type: listener.type, ...eras }
    const scheme = listener.tls === undefined ? 'http' : 'https'
    const host = listener.host.includes(':') ? `[${listener.host}]` : listener.host
    return { name, type: listener.type, ...eras, url: `${scheme}://${host}:${listener.port}${listener.path}` }
  })
}

/** Formats a configuration as YAML, optionally with the origin of each value as a comment. */
export function formatConfig(config: unknown, origins: readonly DescribedValue[], withOrigins: boolean): string[] {
  const comments = withOrigins ? new Map(origins.map(({ pointer, origin }) => [pointer, origin])) : undefined
  const lines = toYaml(config, comments).trimEnd().split('\n')
  return lines.map(line => `  ${escapeUnprintable(line)}`)
}

export function formatInspection(inspection: ShownInspection, withOrigins: boolean, terminal: Terminal): string[] {
  const { out } = terminal
  const { file, files, catalog, withheld } = inspection
  const names = [...new Set([file, ...files])]
    .filter(name => name !== undefined)
    .map(name => relative(terminal.cwd, name))
  return [
    ...formatSection(
      'config',
      names.join(' + '),
      formatConfig(inspection.config, inspection.origins, withOrigins),
      out,
    ),
    ...formatSection('listeners', '', formatListeners(inspection, out), out),
    ...formatSection('load', '', inspection.load === undefined ? [] : [`  ${formatLoad(inspection.load, out)}`], out),
    ...formatSection('upstreams', '', formatUpstreams(inspection, out), out),
    ...formatSection('plugins', '', formatPlugins(inspection, out), out),
    ...formatSection('hooks', 'plugins in execution order', formatHooks(inspection, out), out),
    ...formatSection('catalog', formatOffers(catalog), formatCatalog(catalog, out), out),
    ...formatSection('warnings', '', formatInspectionWarnings(inspection, terminal), out),
    ...formatSection('withheld', 'name already used by another upstream', formatWithheld(withheld, out), out),
  ]
}

function formatSection(title: string, note: string, lines: readonly string[], { paint }: TerminalOutput): string[] {
  if (lines.length === 0) return []
  return [`${paint('bold', title)}${note === '' ? '' : `  ${paint('dim', note)}`}`, ...lines, '']
}

function formatListeners({ listeners }: Inspection, out: TerminalOutput): string[] {
  return formatTable(
    listeners.map(({ name, type, url, eras }) => [
      name,
      out.paint('cyan', type),
      [url ?? (type === 'http' ? 'on a free port' : ''), eras].filter(Boolean).join(' · '),
    ]),
    withoutWidth(out),
    2,
  )
}

function formatUpstreams({ upstreams, catalog }: Inspection, out: TerminalOutput): string[] {
  const rows = upstreams.map(upstream => {
    const { name, type, state, problem, server, pid } = upstream
    const offers = formatOffers(catalog.filter(row => row.upstream === name))
    const about = [
      formatProtocol(upstream),
      server && toOneLine(`${server.name} ${server.version}`),
      pid && `pid ${pid}`,
    ]
    const summary = [state === 'ready' ? offers : '', ...about].filter(Boolean).join(' · ')
    const text = problem ?? (server === undefined ? '' : markRemembered(upstream, summary))
    const details = [text, formatDropped(upstream)].filter(Boolean).join(' · ')
    return [name, out.paint('cyan', type), formatState(state, out), details]
  })
  return formatTable(rows, withoutWidth(out), 2)
}

/** Messages without a recipient: `dropped 2 progress, 1 response`. */
function formatDropped({ dropped = {} }: UpstreamStatus): string | undefined {
  const counts = Object.entries(dropped).map(([kind, count]) => `${count} ${kind}`)
  return counts.length === 0 ? undefined : `dropped ${counts.join(', ')}`
}

function formatProtocol(status: UpstreamStatus): string | undefined {
  const { era, version } = status
  return version === undefined ? undefined : `${version} (${[era, ...listOtherEras(status)].join(', ')})`
}

function formatPlugins({ plugins }: Inspection, out: TerminalOutput): string[] {
  return formatTable(
    plugins.map(({ name, from }) => [name, out.paint('dim', from)]),
    out,
    2,
  )
}

function formatHooks({ hooks }: Inspection, out: TerminalOutput): string[] {
  const rows = Object.entries(hooks).map(([hook, taps]) => {
    const names = taps.map(({ plugin, stage, key }) => {
      const about = [key, stage === 'normal' ? undefined : stage].filter(Boolean).join(', ')
      return about === '' ? plugin : `${plugin} (${about})`
    })
    return [hook, names.join(' → ')]
  })
  return formatTable(rows, withoutWidth(out), 2)
}

function formatCatalog(catalog: readonly CatalogRow[], out: TerminalOutput): string[] {
  const rows = catalog.map(({ kind, name, upstream, original, description }) => [
    out.paint('dim', NOUNS[kind]),
    toOneLine(name),
    out.paint('cyan', upstream),
    toOneLine([name.endsWith(original) ? '' : `(${original})`, description ?? ''].join(' ')),
  ])
  return formatTable(rows, { ...out, width: out.width ?? 120 }, 2)
}

function formatWithheld(withheld: Inspection['withheld'], out: TerminalOutput): string[] {
  const rows = withheld.map(({ kind, name, upstream, owner }) => [
    out.paint('dim', NOUNS[kind]),
    toOneLine(name),
    out.paint('cyan', upstream),
    `name used by ${owner}`,
  ])
  return formatTable(rows, out, 2)
}

function formatInspectionWarnings({ warnings, unmatched }: ShownInspection, { cwd, out }: Terminal): string[] {
  return [...warnings, ...unmatched].map(
    problem => `  ${out.paint('yellow', 'warning')} ${formatProblem(problem, cwd)}`,
  )
}

interface FullInspection extends Inspection, DescribedConfig {}

/** `gateway inspect --json` output. */
type ShownInspection = Omit<FullInspection, 'written'>
