/**
 * The cost of each plugin without any I/O, beside a gateway without plugins in the same process and the same short rounds:
 * `node test/bench/alone/plugins-alone.ts [rounds] [plugin,…]`. Processor time of the process.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FEATURE_NAMES, type Plugins } from '../features.ts'
import type { Ask } from '../load/messages.ts'
import { aloneInProcessTable } from '../output/table.ts'
import { labelOf, type Label } from '../setup/workshop.ts'
import { costOver, type Cost } from './cost.ts'
import { FLIGHTS, openRoad, type Road } from './roads.ts'

/** One plugin, and what it adds to a call over HTTP, in microseconds. */
export interface PluginCost extends Cost {
  readonly label: Label
}

const ASK: Ask = { era: 'legacy', method: 'tools/call', tool: 'small' }
/** Twice as many as a batch has lines. */
const CALLS = 32 * FLIGHTS
const WARM_ROUNDS = 20

/** Measures all plugins, or these. */
export async function measurePluginsAlone(rounds: number, only?: readonly string[]): Promise<readonly PluginCost[]> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-alone-'))
  try {
    const wanted = [...FEATURE_NAMES, 'all' as const, 'auth too' as const].filter(name => only?.includes(name) ?? true)
    // Twice none: what the second costs more than the first is noise.
    const sets: readonly Plugins[] = ['none', 'none', ...wanted]
    const roads: Road[] = []
    for (const plugins of sets) roads.push(await openRoad({ plugins, ask: ASK, directory }))
    const [, ...labels] = sets.map(labelOf)
    const costs = await costsOf(roads, rounds)
    return costs.map((cost, nth) => ({ label: labels[nth] ?? '', ...cost }))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** The cost of all roads but the first, over the first. All come round alike, so that caches are as cold for each of them. */
async function costsOf(roads: readonly Road[], rounds: number): Promise<readonly Cost[]> {
  const micros = roads.map((): number[] => [])
  for (let round = -WARM_ROUNDS; round < rounds; round++)
    for (let turn = 0; turn < roads.length; turn++) {
      const place = (turn + round + WARM_ROUNDS) % roads.length
      const spent = await microsOf(roads[place])
      if (round >= 0) micros[place]?.push(spent)
    }
  const [base = [], ...others] = micros
  return others.map(other => costOver(base, other))
}

/** By the whole process: the clock of one thread is right only when the thread gives way, which a short round may not. */
async function microsOf(road: Road | undefined): Promise<number> {
  const began = process.cpuUsage()
  await road?.call(CALLS)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / CALLS
}

// Run by itself, it prints; as a child of the bench, it reports.
if (import.meta.main) {
  const [, , rounds = '20', only] = process.argv
  const results = await measurePluginsAlone(Number(rounds), only?.split(','))
  if (process.send === undefined) console.log(aloneInProcessTable(results))
  else process.send(results)
  // Gateways hold timers and sockets that nobody needs any more.
  if (process.send === undefined) process.exit()
}
