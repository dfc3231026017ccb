import type { LogLine } from '../../api/index.ts'
import type { Notification } from '../../api/index.ts'
import { plainText } from '../output/plain-text.ts'
import type { Terminal } from '../output/terminal.ts'
import { withControl, type ControlFlags } from './connect.ts'

interface LogsFlags extends ControlFlags {
  readonly lines: number
  readonly json: boolean
}

/** The last lines of one upstream of the running gateway. */
export function recentLines(upstream: string, flags: LogsFlags, terminal: Terminal): Promise<LogLine[]> {
  return withControl(flags, terminal, async client => {
    const { lines } = await client.request('upstream.logs', { upstream, lines: flags.lines })
    return lines as LogLine[]
  })
}

/** Prints the same and what follows, until the upstream or the gateway is gone. */
export function followLines(upstream: string, flags: LogsFlags, terminal: Terminal): Promise<void> {
  const { out, err } = terminal
  return withControl(flags, terminal, async client => {
    const onNotification = ({ params }: Notification): void => {
      const { line, missed } = (params ?? {}) as { line: LogLine; missed?: number }
      if (missed !== undefined)
        err.line(`${missed} lines were left out: they came faster than they were read`)
      out.line(flags.json ? JSON.stringify(line) : logText(line, terminal))
    }
    await client.request('upstream.logs', { upstream, lines: flags.lines, follow: true }, { onNotification })
  })
}

/** `12:00:01.250 4711 what it wrote` */
export function logText({ at, pid, text }: LogLine, { out }: Terminal): string {
  const time = new Date(at).toISOString().slice(11, 23)
  const about = [time, ...(pid === undefined ? [] : [String(pid)])].join(' ')
  return `${out.paint('dim', about)} ${plainText(text).replaceAll('\n', ' ')}`
}
