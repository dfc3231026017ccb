import type { ConfigChanges, Differences } from '../../api/gateway.ts'
import { oneLine } from '../output/plain-text.ts'
import { table } from '../output/table.ts'
import type { Output, Terminal } from '../output/terminal.ts'
import { withControl, type ControlFlags } from './connect.ts'

/** Lets the running gateway read its configuration again. */
export function reloadRunning(flags: ControlFlags, terminal: Terminal): Promise<ConfigChanges> {
  return withControl(
    flags,
    terminal,
    async client => (await client.request('reload')) as unknown as ConfigChanges,
  )
}

/** What another configuration changed, as people read it. */
export function changeLines({ upstreams, listeners, settings }: ConfigChanges, out: Output): string[] {
  const rows = [
    ...namedRows('upstream', upstreams, out),
    ...namedRows('listener', listeners, out),
    ...settings.map(key => [out.paint('yellow', 'changed'), key]),
  ]
  return rows.length === 0
    ? ['reloaded: nothing is different']
    : [`${out.paint('green', 'reloaded')}:`, ...table(rows, out, 2)]
}

function namedRows(noun: string, { added, removed, changed }: Differences, out: Output): string[][] {
  const row = (what: string, style: 'green' | 'red' | 'yellow') => (name: string) => [
    out.paint(style, what),
    `${noun} ${oneLine(name)}`,
  ]
  return [
    ...added.map(row('added', 'green')),
    ...removed.map(row('removed', 'red')),
    ...changed.map(row('changed', 'yellow')),
  ]
}
