import { relative } from 'node:path'
import type { CatalogRow, Inspection, UpstreamStatus } from '../../api/gateway.ts'
import type { DescribedConfig, DescribedValue, LoadedConfig } from '../../config/index.ts'
import { describeConfig, formatProblem } from '../../config/index.ts'
import { countEras } from '../../gateway/inspect.ts'
import { loadSource, stateDirectory } from '../load-source.ts'
import type { Output, Terminal } from '../output/terminal.ts'
import { silentLog } from '../serve/logs.ts'
import type { AskFlags } from './ask-gateway.ts'
import { withAsked } from './ask-gateway.ts'
import { isPlain } from '../../util/plain-data.ts'
import { appendPointer } from '../../util/finding.ts'
import { printable } from '../../util/log.ts'
import { loadText, otherEras } from '../output/findings.ts'
import { toOneLine } from '../../util/plain-text.ts'
import { table, uncut } from '../output/table.ts'
import { knownText, offerText, stateText } from '../serve/summary.ts'

const KIND_NAMES: Readonly<Record<CatalogRow['kind'], string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'template',
}

/** Stands for the pointer of a line that goes on with the value of the line before. */
const CONTINUED = ' '

/** Everything there is to know of the gateway that runs, or of a configuration; `live` starts its upstreams to ask them. */
export async function inspect(flags: AskFlags, live: boolean, terminal: Terminal): Promise<FullInspection> {
  if (!live) return built(await loadSource(flags, terminal, 'leave'), terminal)
  return withAsked(flags, terminal, async gateway => {
    const inspection = await gateway.inspect()
    const isOpen = inspection.listeners.length > 0
    return isOpen ? inspection : { ...inspection, listeners: configuredListeners(inspection.config) }
  })
}

async function built(source: LoadedConfig, terminal: Terminal): Promise<FullInspection> {
  const { environment, cwd } = terminal
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway = await createGateway(source, {
    log: silentLog(),
    environment,
    state: stateDirectory(source, terminal),
  })
  const inspection = await gateway.inspect()
  await gateway.close()
  return {
    ...describeConfig(source, cwd),
    ...inspection,
    listeners: configuredListeners(source.config),
  }
}

// Listeners are not open here, so these are the addresses where they would be.
function configuredListeners(config: unknown): Inspection['listeners'] {
  const { listeners } = config as Pick<LoadedConfig['config'], 'listeners'>
  return Object.entries(listeners).map(([name, listener]) => {
    const eras = countEras(name, config as LoadedConfig['config'])
    if (listener.type !== 'http' || listener.port === 0) return { name, type: listener.type, ...eras }
    const scheme = listener.tls === undefined ? 'http' : 'https'
    const host = listener.host.includes(':') ? `[${listener.host}]` : listener.host
    return { name, type: listener.type, ...eras, url: `${scheme}://${host}:${listener.port}${listener.path}` }
  })
}

interface Line {
  readonly text: string
  readonly pointer: string
}

interface ConfigLook {
  /** True when each value says where it comes from, in a comment. */
  readonly withOrigins: boolean
  readonly out: Output
}

/** A configuration as YAML, defaults faint. */
export function configLines(
  config: unknown,
  origins: readonly DescribedValue[],
  { withOrigins, out }: ConfigLook,
): string[] {
  const lines = [...formatLines(config, '', '  ', out.width ?? 110)]
  const byPointer = new Map(origins.map(({ pointer, origin }) => [pointer, origin]))
  const column = Math.min(60, Math.max(0, ...lines.map(({ text }) => text.length)) + 1)
  let origin: string | undefined
  return lines.map(({ text, pointer }) => {
    if (pointer !== CONTINUED) origin = byPointer.get(pointer) ?? byPointer.get(`${pointer}/0`)
    const shown = origin === 'default' ? out.paint('dim', text) : text
    if (!withOrigins || origin === undefined || pointer === CONTINUED) return shown
    return `${shown}${' '.repeat(Math.max(1, column - text.length))}${out.paint('dim', `# ${origin}`)}`
  })
}

function* formatLines(value: unknown, pointer: string, indent: string, width: number): Generator<Line> {
  if (!isPlain(value)) return
  for (const [key, inner] of Object.entries(value)) {
    const at = appendPointer(pointer, key)
    const head = `${indent}${scalar(key)}:`
    if (isPlain(inner) && Object.keys(inner).length > 0) {
      yield { text: head, pointer: at }
      yield* formatLines(inner, at, `${indent}  `, width)
    } else {
      const [first = '', ...more] = flowLines(
        `${head} ${flow(inner)}`,
        `${indent}  `,
        Array.isArray(inner) ? width : Infinity,
      )
      yield { text: first, pointer: at }
      yield* more.map(text => ({ text, pointer: CONTINUED }))
    }
  }
}

// A list may go on on the next line, after a comma.
function flowLines(text: string, indent: string, width: number): string[] {
  const at = text.length <= width ? -1 : text.lastIndexOf(', ', width - 1)
  if (at <= indent.length) return [text]
  return [text.slice(0, at + 1), ...flowLines(`${indent}${text.slice(at + 2)}`, indent, width)]
}

function flow(value: unknown): string {
  if (Array.isArray(value))
    return `[${value.map(item => (Array.isArray(item) ? flow(item) : inFlow(item))).join(', ')}]`
  return typeof value === 'string' ? scalar(value) : printable(JSON.stringify(value))
}

function inFlow(value: unknown): string {
  return typeof value === 'string' && /[\s:]/.test(value) ? printable(JSON.stringify(value)) : flow(value)
}

// Quoted where YAML would read something else.
function scalar(text: string): string {
  const isPlainText = /^[A-Za-z_./][\w./@+:-]*(?: [\w./@+:-]+)*$/.test(text) && !/:(?: |$)/.test(text)
  const isSomethingElse = /^(?:true|false|null|yes|no|on|off|\.inf|\.nan|\.\d.*)$/i.test(text)
  const isQuantity = /^\d+(?:ms|s|m|h|d|[KMG]iB)$/.test(text)
  return isQuantity || (isPlainText && !isSomethingElse) ? text : printable(JSON.stringify(text))
}

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
      server && toOneLine(`${server.name} ${server.version}`),
      pid && `pid ${pid}`,
    ]
    const said = [state === 'ready' ? offers : '', ...about].filter(Boolean).join(' · ')
    const text = problem ?? (server === undefined ? '' : knownText(upstream, said))
    const told = [text, droppedText(upstream)].filter(Boolean).join(' · ')
    return [name, out.paint('cyan', type), stateText(state, out), told]
  })
  return table(rows, uncut(out), 2)
}

/** Messages that it sent and nobody could be given: `dropped 2 progress, 1 response`. */
function droppedText({ dropped = {} }: UpstreamStatus): string | undefined {
  const counts = Object.entries(dropped).map(([kind, count]) => `${count} ${kind}`)
  return counts.length === 0 ? undefined : `dropped ${counts.join(', ')}`
}

function protocolText(status: UpstreamStatus): string | undefined {
  const { era, version } = status
  return version === undefined ? undefined : `${version} (${[era, ...otherEras(status)].join(', ')})`
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
    toOneLine(name),
    out.paint('cyan', upstream),
    toOneLine([name.endsWith(original) ? '' : `(${original})`, description ?? ''].join(' ')),
  ])
  return table(rows, { ...out, width: out.width ?? 120 }, 2)
}

function withheldLines(withheld: Inspection['withheld'], out: Output): string[] {
  const rows = withheld.map(({ kind, name, upstream, owner }) => [
    out.paint('dim', KIND_NAMES[kind]),
    toOneLine(name),
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

/** Output of `gateway inspect --json`. */
interface FullInspection extends Inspection, DescribedConfig {}
