import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { plotOf } from '../../bench/output/plot.ts'
import { machine } from '../../bench/output/result.ts'
import { type Figures, MEASURED_SESSIONS } from './costs.ts'

const PAGE = new URL('../../../docs/capacity.md', import.meta.url)
const PLOT = new URL('../../../docs/images/capacity.svg', import.meta.url)
/** Share of a core that calls should use, so that a burst still finds one free. */
const BUSY = 0.7
const CALLS = 10_000
const SESSIONS = 100_000
const KIB = 1024
const MIB = KIB * KIB

/** Writes docs/capacity.md and its plot: tables of what was measured, and what is reckoned from that. */
export async function writeCapacity(found: Figures): Promise<void> {
  const { cpu, cores, node } = machine()
  const today = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)
  const parts = {
    machine: `${cpu} × ${cores}, Node ${node}, ${today}`,
    costs: costTable(found),
    growth: growthTable(found),
    plan: planTable(found),
  }
  const page = Object.entries(parts).reduce(withPart, readFileSync(PAGE, 'utf8'))
  writeFileSync(PAGE, await formatted(page))
  writeFileSync(PLOT, growthPlot(found))
}

async function formatted(page: string): Promise<string> {
  const options = await resolveConfig(fileURLToPath(PAGE))
  return format(page, { ...options, parser: 'markdown' })
}

function withPart(page: string, [name, content]: readonly [string, string]): string {
  const place = new RegExp(`(<!-- ${name} -->)[^]*?(<!-- /${name} -->)`)
  return page.replace(place, (_all, begin: string, end: string) => `${begin}\n\n${content.trim()}\n\n${end}`)
}

function costTable(found: Figures): string {
  const { modernOff, modernOn, legacyHere, legacyHandedOn } = found
  return table(
    ['what', 'measured'],
    [
      ['a modern call, without `cluster`', us(modernOff)],
      ['the same with it', `${us(modernOn)}, ${(modernOn / modernOff).toFixed(3)} ×`],
      ['a call in a session, at the replica that has it', us(legacyHere)],
      ['the same at another replica, both together', us(legacyHandedOn)],
      ['so a hand-on over TCP', us(legacyHandedOn - legacyHere)],
      ['a session in Redis', `${found.bytesEach.toFixed(0)} bytes`],
      ['a session in the memory of its replica', `${(found.memoryEach / KIB).toFixed(1)} KiB`],
      [
        `commands of a replica with ${words(MEASURED_SESSIONS)} sessions that say nothing`,
        `${found.idleCommands.toFixed(0)} a second`,
      ],
      [
        'processor time until it serves, without and with `cluster`',
        `${found.startOff.toFixed(0)} ms, ${found.startOn.toFixed(0)} ms`,
      ],
    ],
  )
}

function growthTable({ growth }: Figures): string {
  return table(
    ['replicas', 'a modern call', 'commands for 1,000', 'a call in a session', 'commands for 1,000'],
    growth.map(({ replicas, modern, legacy, modernCommands, legacyCommands }) => [
      String(replicas),
      us(modern),
      modernCommands.toFixed(1),
      us(legacy),
      legacyCommands.toFixed(1),
    ]),
  )
}

/** Reckons how much is needed for so many calls and sessions. */
function planTable(found: Figures): string {
  const { modernOn, legacyHere, legacyHandedOn, bytesEach, memoryEach, idleCommands } = found
  const modern = coresFor(modernOn)
  const legacy = coresFor(legacyHandedOn)
  const each = Math.ceil(SESSIONS / legacy)
  return table(
    ['wanted', 'reckoned'],
    [
      [
        `${words(CALLS)} modern calls a second`,
        `${words(CALLS)} × ${us(modernOn)} ÷ ${BUSY} = ${modern} replicas of one core each`,
      ],
      [
        `${words(CALLS)} calls a second in sessions, each at any replica`,
        `${words(CALLS)} × ${us(legacyHandedOn)} ÷ ${BUSY} = ${legacy} replicas, as nearly all are handed on`,
      ],
      ['the same behind a balancer that hashes on `Mcp-Session-Id`', `${coresFor(legacyHere)} replicas`],
      [
        `${words(SESSIONS)} sessions on those ${legacy} replicas`,
        `${words(each)} each: ${((each * memoryEach) / MIB).toFixed(0)} MiB more of memory in each`,
      ],
      [
        'Redis for them',
        `${((SESSIONS * bytesEach) / MIB).toFixed(0)} MiB, and ${words(Math.round((SESSIONS / MEASURED_SESSIONS) * idleCommands))} commands a second at most while nobody calls`,
      ],
    ],
  )
}

function coresFor(micros: number): number {
  return Math.ceil((CALLS * micros) / 1e6 / BUSY)
}

function growthPlot({ growth }: Figures): string {
  return plotOf({
    title: 'Processor time of all replicas for one call',
    x: 'replicas; every request at the next one',
    y: 'µs',
    series: [
      { label: 'in a session', points: growth.map(({ replicas, legacy }) => [replicas, legacy]) },
      { label: 'modern', points: growth.map(({ replicas, modern }) => [replicas, modern]) },
    ],
  })
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`)
  return lines.join('\n')
}

function us(micros: number): string {
  return `${micros.toFixed(0)} µs`
}

function words(count: number): string {
  return count.toLocaleString('en')
}
