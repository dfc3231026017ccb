import type { UpstreamStatus } from '../../api/gateway.ts'
import { oneLine } from '../output/plain-text.ts'
import { stateText } from '../serve/summary.ts'
import type { Terminal } from '../output/terminal.ts'
import { withControl, type ControlFlags } from './connect.ts'

/** Starts, stops or restarts one upstream of the running gateway. */
export function steer(
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
export function steerLine({ name, state, pid }: UpstreamStatus, { out }: Terminal): string {
  return `${oneLine(name)} is ${stateText(state, out)}${pid === undefined ? '' : `, pid ${pid}`}`
}
