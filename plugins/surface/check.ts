import { mapAt, pointerTo, type Report } from '../../src/plugin.ts'
import { NAMES } from './meta-tools.ts'

/** Points at names that would meet those of our tools. */
export function check(config: unknown, report: Report): void {
  const rename = mapAt(config, 'filters', 'tools', 'rename')
  for (const [from, to] of Object.entries(rename)) {
    if (!Object.values(NAMES).includes(String(to))) continue
    report({
      pointer: pointerTo('/filters/tools/rename', from),
      message: `"${String(to)}" is the name of a tool of the surface`,
      hint: 'choose another name; with this one the tools of the surface are called gateway_search_tools and so on',
      severity: 'warning',
    })
  }
}
