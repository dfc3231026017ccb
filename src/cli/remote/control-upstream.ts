import type { ConfigChanges, NameChanges, UpstreamStatus } from '../../api/gateway.ts'
import { toOneLine, sanitizeText } from '../../util/plain-text.ts'
import { formatState } from '../serve/summary.ts'
import type { TerminalOutput, Terminal } from '../output/terminal.ts'
import type { ControlFlags } from './connect.ts'
import { withControl } from './connect.ts'
import { formatTable } from '../output/table.ts'
import type { LogLine, Notification } from '../../api/index.ts'

/** Starts, stops or restarts one upstream of the running gateway. */
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

/** `web is ready, pid 4711` */
export function formatUpstreamState({ name, state, pid }: UpstreamStatus, { out }: Terminal): string {
  return `${toOneLine(name)} is ${formatState(state, out)}${pid === undefined ? '' : `, pid ${pid}`}`
}

/** Lets the running gateway read its configuration again. */
export function reloadGateway(flags: ControlFlags, terminal: Terminal): Promise<ConfigChanges> {
  return withControl(
    flags,
    terminal,
    async client => (await client.request('reload')) as unknown as ConfigChanges,
  )
}

/** Changes of another configuration, as people read them. */
export function formatChanges(
  { upstreams, listeners, settings }: ConfigChanges,
  out: TerminalOutput,
): string[] {
  const rows = [
    ...formatDifferences('upstream', upstreams, out),
    ...formatDifferences('listener', listeners, out),
    ...settings.map(key => [out.paint('yellow', 'changed'), key]),
  ]
  return rows.length === 0
    ? ['reloaded: nothing is different']
    : [`${out.paint('green', 'reloaded')}:`, ...formatTable(rows, out, 2)]
}

function formatDifferences(
  noun: string,
  { added, removed, changed }: NameChanges,
  out: TerminalOutput,
): string[][] {
  const createRow = (what: string, style: 'green' | 'red' | 'yellow') => (name: string) => [
    out.paint(style, what),
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

/** The last lines of one upstream of the running gateway. */
export function requestLogs(upstream: string, flags: LogsFlags, terminal: Terminal): Promise<LogLine[]> {
  return withControl(flags, terminal, async client => {
    const { lines } = await client.request('upstream.logs', { upstream, lines: flags.lines })
    return lines as LogLine[]
  })
}

/** Prints the same and what follows, until the upstream or the gateway is gone. */
export function followLogs(upstream: string, flags: LogsFlags, terminal: Terminal): Promise<void> {
  const { out, err } = terminal
  return withControl(flags, terminal, async client => {
    const onNotification = ({ params }: Notification): void => {
      const { line, missed } = (params ?? {}) as { line?: LogLine; missed?: number }
      if (missed !== undefined)
        err.line(`${missed} lines were left out: they came faster than they were read`)
      if (line !== undefined) out.line(flags.json ? JSON.stringify(line) : formatLogLine(line, terminal))
    }
    await client.request('upstream.logs', { upstream, lines: flags.lines, follow: true }, { onNotification })
  })
}

/** `12:00:01.250 4711 what it wrote` */
export function formatLogLine({ at, pid, text }: LogLine, { out }: Terminal): string {
  const time = new Date(at).toISOString().slice(11, 23)
  const about = [time, ...(pid === undefined ? [] : [String(pid)])].join(' ')
  return `${out.paint('dim', about)} ${sanitizeText(text).replaceAll('\n', ' ')}`
}
