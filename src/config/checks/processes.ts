import { mapAt, textAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import type { Report } from '../problem.ts'

/** What the system that reads the configuration cannot do for a server process; another one may. */
export function checkProcesses(config: unknown, platform: string, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    if (textAt(upstreams, name, 'type') !== 'stdio') continue
    const upstream = mapAt(upstreams, name)
    const at = pointerTo('/upstreams', name)
    if (upstream.sandbox !== undefined && platform !== 'linux')
      report({
        pointer: `${at}/sandbox`,
        message: 'there is no bubblewrap on this system, so the server will not start',
        hint: 'leave it out here, with an environment overlay for example',
        severity: 'warning',
      })
    if (upstream.ceilings !== undefined && platform === 'win32')
      report({
        pointer: `${at}/ceilings`,
        message: 'Windows has no resource limits that a parent could set, so these are not kept',
        severity: 'warning',
      })
  }
}
