import type { ConfigChanges, NameChanges, UpstreamStatus } from '../../api/gateway.ts'
import { toOneLine, sanitizeText } from '../../util/plain-text.ts'
import { formatState } from '../serve/summary.ts'
import type { TerminalOutput, Terminal } from '../output/terminal.ts'
import type { ControlFlags } from './control-connection.ts'
import { withControl } from './control-connection.ts'
import { formatTable } from '../output/table.ts'
import type { LogLine, Notification } from '../../api/index.ts'

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
