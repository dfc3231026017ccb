import { relative } from 'node:path'
import type { ConfigChanges, NameChanges, UpstreamStatus } from '../../api/gateway.ts'
import type { LogLine, Notification } from '../../api/index.ts'
import type { ControlClient } from '../../control/client.ts'
import { GatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { formatBytes, formatDuration, sanitizeText, toOneLine } from '../../util/plain-text.ts'
import { formatFindings, formatLoad, listOtherEras } from '../output/format-findings.ts'
import { formatTable, measureFixedColumns, MIN_LAST_WIDTH } from '../output/table.ts'
import type { Terminal, TerminalOutput } from '../output/terminal.ts'
import { formatState } from '../serve/summary.ts'
import type { ControlFlags, PsOutput } from './control-connection.ts'
import { withControl } from './control-connection.ts'

const REFRESH_MS = 1000
const CLEAR_SCREEN = '\u001b[H\u001b[2J'
const COLUMNS = ['upstream', 'state', 'protocol', 'pid', 'up', 'restarts', 'in flight', 'queue', 'memory', 'problem']
/** Columns that a narrow terminal omits, in this order. */
const OPTIONAL_COLUMNS = ['queue', 'restarts', 'up', 'protocol', 'memory', 'in flight', 'pid']

/** Of several local gateways, replicas need no choice: any one of them lists the others. */
export async function requestPs(flags: ControlFlags, terminal: Terminal): Promise<PsOutput> {
  const readStatus = async (client: ControlClient): Promise<PsOutput> =>
    (await client.request('ps')) as unknown as PsOutput
  try {
    return await withControl(flags, terminal, readStatus)
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'GW_MANY_GATEWAYS') throw error
    const status = await withControl(flags, terminal, readStatus, 'one').catch(() => undefined)
    if (status?.replicas === undefined || status.replicas.length < Number(error.fields['count'])) throw error
    return status
  }
}

/** Prints the state every second until the gateway stops or the reader closes. */
export function watchPs(flags: ControlFlags & { json: boolean }, terminal: Terminal): Promise<never> {
  const { out } = terminal
  return withControl(flags, terminal, async client => {
    for (;;) {
      const now = (await client.request('ps')) as unknown as PsOutput
      if (flags.json) out.line(JSON.stringify(now))
      else {
        const lines = formatPs(now, Date.now(), terminal)
        out.line(`${out.width === undefined ? '' : CLEAR_SCREEN}${lines.join('\n')}`)
      }
      await new Promise(resolve => setTimeout(resolve, REFRESH_MS))
    }
  })
}

/** Formats gateway state; `now` is milliseconds since the epoch. */
export function formatPs(
  { gateway, listeners, load, replicas, health, upstreams }: PsOutput,
  now: number,
  { cwd, out }: Terminal,
): string[] {
  const { name, version, pid, startedAt, config, env, rss } = gateway
  const about = [
    `pid ${pid}`,
    startedAt === undefined ? undefined : `up ${formatDuration(now - startedAt)}`,
    formatBytes(rss),
    config === undefined ? undefined : toOneLine(relative(cwd, config)),
    env === undefined ? undefined : `env ${toOneLine(env)}`,
  ].filter(text => text !== undefined)
  const rows = upstreams.map(row => formatUpstreamRow(row, now, out))
  const head = COLUMNS.map(text => out.paint('dim', text))
  const urls = listeners.map(listener => [listener.name, listener.url ?? listener.type].map(toOneLine))
  return [
    `${out.paint('bold', toOneLine(`${name} ${version}`))}  ${out.paint('dim', about.join(' · '))}`,
    ...formatTable(urls, out, 2),
    ...(load === undefined ? [] : [`  ${formatLoad(load, out)}`]),
    ...(replicas === undefined ? [] : [`  ${formatReplicas(replicas)}`]),
    '',
    ...formatTable(fitColumns([head, ...rows], out.width), out),
    ...(health === undefined ? [] : formatFindings(health.findings, out)),
  ]
}

/** `replicas: 2 (r0f3a… at 10.0.0.1:7900, this one; r77b1… at 10.0.0.2:7900)` */
function formatReplicas(replicas: NonNullable<PsOutput['replicas']>): string {
  const texts = replicas.map(({ id, address, isSelf }) => `${id} at ${address}${isSelf ? ', this one' : ''}`)
  return toOneLine(`replicas: ${replicas.length} (${texts.join('; ')})`)
}

/** Drops optional columns until the others fit; the last column may be truncated. */
function fitColumns(rows: readonly (readonly string[])[], width = Infinity): readonly (readonly string[])[] {
  const visibleColumns = new Set(COLUMNS)
  const selectCells = (row: readonly string[]): string[] => row.filter((_, i) => visibleColumns.has(String(COLUMNS[i])))
  for (const column of OPTIONAL_COLUMNS) {
    if (measureFixedColumns(rows.map(selectCells)) + MIN_LAST_WIDTH <= width) break
    visibleColumns.delete(column)
  }
  return rows.map(selectCells)
}

function formatUpstreamRow(row: PsOutput['upstreams'][number], now: number, out: TerminalOutput): string[] {
  const { name, state, era = '', version, rss } = row
  return [
    out.paint('bold', toOneLine(name)),
    formatState(state, out),
    version === undefined ? '-' : toOneLine(`${version} ${[era, ...listOtherEras(row)].join('+')}`),
    ...formatProcessCells(row, now),
    formatQueue(row['queue']),
    rss === undefined ? '-' : formatBytes(rss),
    formatLastProblem(row, now),
  ]
}

function formatProcessCells(row: UpstreamStatus, now: number): string[] {
  const { instances = [], restarts = '-', inFlight = '-' } = row.runtime ?? {}
  const [pid, ...morePids] = listPids(row)
  const since = Math.min(...instances.map(({ startedAt }) => startedAt))
  return [
    pid === undefined ? '-' : `${pid}${morePids.length > 0 ? ` +${morePids.length}` : ''}`,
    Number.isFinite(since) ? formatDuration(now - since) : '-',
    String(restarts),
    String(inFlight),
  ]
}

function listPids({ pid, runtime }: UpstreamStatus): number[] {
  const pids = runtime?.instances.flatMap(instance => instance.pid ?? []) ?? []
  return pids.length > 0 ? pids : [pid].filter(one => one !== undefined)
}

/** Waiting call count, as a plugin reports it. */
function formatQueue(queue: unknown): string {
  if (typeof queue === 'number') return String(queue)
  const { waiting } = isObject(queue) ? queue : ({} as JsonObject)
  return typeof waiting === 'number' ? String(waiting) : '-'
}

/** Current problem, or the last error. */
function formatLastProblem({ problem, runtime, ...row }: UpstreamStatus, now: number): string {
  const degraded = row['degraded']
  const current = problem ?? (typeof degraded === 'string' ? degraded : undefined)
  if (current !== undefined) return toOneLine(current)
  if (runtime?.lastError === undefined) return ''
  const when = runtime.lastErrorAt === undefined ? '' : `${formatDuration(now - runtime.lastErrorAt)} ago: `
  return toOneLine(`${when}${runtime.lastError}`)
}

export function controlUpstream(
  verb: 'start' | 'stop' | 'restart',
  upstream: string,
  flags: ControlFlags,
  terminal: Terminal,
): Promise<UpstreamStatus> {
  return withControl(flags, terminal, async client => {
    const answer = await client.request(`upstream.${verb}`, { upstream })
    return answer['upstream'] as UpstreamStatus
  })
}

export function formatUpstreamState({ name, state, pid }: UpstreamStatus, { out }: Terminal): string {
  return `${toOneLine(name)} is ${formatState(state, out)}${pid === undefined ? '' : `, pid ${pid}`}`
}

export function reloadGateway(flags: ControlFlags, terminal: Terminal): Promise<ConfigChanges> {
  return withControl(flags, terminal, async client => (await client.request('reload')) as unknown as ConfigChanges)
}

export function formatChanges({ upstreams, listeners, settings }: ConfigChanges, out: TerminalOutput): string[] {
  const rows = [
    ...formatDifferences('upstream', upstreams, out),
    ...formatDifferences('listener', listeners, out),
    ...settings.map(key => [out.paint('yellow', 'changed'), key]),
  ]
  return rows.length === 0
    ? ['reloaded: no changes']
    : [`${out.paint('green', 'reloaded')}:`, ...formatTable(rows, out, 2)]
}

function formatDifferences(noun: string, { added, removed, changed }: NameChanges, out: TerminalOutput): string[][] {
  const createRow = (label: string, style: 'green' | 'red' | 'yellow') => (name: string) => [
    out.paint(style, label),
    `${noun} ${toOneLine(name)}`,
  ]
  return [
    ...added.map(createRow('added', 'green')),
    ...removed.map(createRow('removed', 'red')),
    ...changed.map(createRow('changed', 'yellow')),
  ]
}

interface LogsFlags extends ControlFlags {
  readonly lines: number
  readonly json: boolean
}

export function requestUpstreamLogs(upstream: string, flags: LogsFlags, terminal: Terminal): Promise<LogLine[]> {
  return withControl(flags, terminal, async client => {
    const { lines } = await client.request('upstream.logs', { upstream, lines: flags.lines })
    return lines as LogLine[]
  })
}

/** Prints recent and new lines until the upstream or gateway stops. */
export function followLogs(upstream: string, flags: LogsFlags, terminal: Terminal): Promise<void> {
  const { out, err } = terminal
  return withControl(flags, terminal, async client => {
    const onNotification = ({ params }: Notification): void => {
      const { line, missed } = (params ?? {}) as { line?: LogLine; missed?: number }
      if (missed !== undefined) err.line(`skipped ${missed} lines that arrived faster than they were read`)
      if (line !== undefined) out.line(flags.json ? JSON.stringify(line) : formatLogLine(line, terminal))
    }
    await client.request('upstream.logs', { upstream, lines: flags.lines, follow: true }, { onNotification })
  })
}

/** Formats a log line: `12:00:01.250 4711 text`. */
export function formatLogLine({ at, pid, text }: LogLine, { out }: Terminal): string {
  const time = new Date(at).toISOString().slice(11, 23)
  const about = [time, ...(pid === undefined ? [] : [String(pid)])].join(' ')
  return `${out.paint('dim', about)} ${sanitizeText(text).replaceAll('\n', ' ')}`
}
