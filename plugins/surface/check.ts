import { mapAt, parseDuration, parseSize, pointerTo, type Report } from '../../src/plugin.ts'
import { NAMES } from './meta-tools.ts'

/** Points at names that would meet those of our tools. */
export function check(config: unknown, report: Report): void {
  checkCode(config, report)
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

/** Bounds of scripts that a schema cannot say. */
const LONGEST_MS = 3_600_000
const SHORTEST_MS = 100
const LEAST_MEMORY = 1024 * 1024
const MOST_MEMORY = 1024 * 1024 * 1024

function checkCode(config: unknown, report: Report): void {
  const { timeout, memory } = mapAt(config, 'surface', 'code')
  if (!isWithin(timeout, parseDuration, SHORTEST_MS, LONGEST_MS))
    report({
      pointer: '/surface/code/timeout',
      message: 'must be from 100ms to 1h',
      hint: 'a client waits for it: 30s is usual',
    })
  if (!isWithin(memory, parseSize, LEAST_MEMORY, MOST_MEMORY))
    report({ pointer: '/surface/code/memory', message: 'must be from 1MiB to 1GiB', hint: '32MiB is usual' })
}

/** True for what is no amount, too: the schema speaks of that. */
function isWithin(
  value: unknown,
  parse: (text: string | number) => number,
  least: number,
  most: number,
): boolean {
  if (typeof value !== 'string' && typeof value !== 'number') return true
  let amount: number
  try {
    amount = parse(value)
  } catch {
    return true
  }
  return Number.isNaN(amount) || (amount >= least && amount <= most)
}
