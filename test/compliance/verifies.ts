import { ANSWERS } from './checks/check.ts'
import type { Bench } from './checks/check.ts'
import { CHECKS } from './checks/index.ts'
import { absence, clientEra, nameOf, offerOf, open, serverEra } from './matrix/cells.ts'
import type { Cell } from './matrix/cells.ts'
import { WAYS } from './matrix/ways.ts'
import { REQUIREMENTS } from './requirements.ts'
import type { Requirement } from './requirements.ts'

/** Outcome of one requirement in one cell. */
export type Outcome =
  | { readonly state: 'passed' }
  | { readonly state: 'failed'; readonly why: string }
  | { readonly state: 'not applicable'; readonly why: string }

/** Outcome of one cell, or why there is none. */
export interface CellReport {
  readonly cell: Cell
  readonly name: string
  readonly absent?: string
  readonly outcomes: Readonly<Record<string, Outcome>>
}

const LIMIT = 30_000

/** Runs every requirement in a cell that applies to it. */
export async function runCell(cell: Cell, only: readonly string[] = Object.keys(REQUIREMENTS)): Promise<CellReport> {
  const name = nameOf(cell)
  const absent = absence(cell)
  if (absent !== undefined) return { cell, name, absent, outcomes: {} }
  const outcomes: Record<string, Outcome> = {}
  let bench: Bench | undefined
  try {
    bench = await benchFor(cell)
    for (const id of [...only].sort(cancelsLast)) outcomes[id] = await verifies(id, bench)
  } catch (error) {
    for (const id of only)
      outcomes[id] ??= exemption(id, cell) ?? { state: 'failed', why: `no connection: ${reasonOf(error)}` }
  } finally {
    await bench?.site.close()
  }
  return { cell, name, outcomes }
}

/** For ten seconds after a cancelled call, a connection that clients share takes no request of its server for another one. */
function cancelsLast(a: string, b: string): number {
  return Number(a.startsWith('cancel.')) - Number(b.startsWith('cancel.'))
}

/** Runs one requirement in an open cell. */
export async function verifies(id: string, bench: Bench): Promise<Outcome> {
  const exempt = exemption(id, bench.cell)
  if (exempt) return exempt
  const check = CHECKS[id]
  if (!check) throw new Error(`${id} has no check`)
  try {
    await withLimit(check(bench))
    return { state: 'passed' }
  } catch (error) {
    return { state: 'failed', why: reasonOf(error) }
  }
}

async function benchFor(cell: Cell): Promise<Bench> {
  const site = await open(cell)
  try {
    const peer = await withLimit(site.connect({ answers: ANSWERS }))
    return { cell, site, peer, offer: offerOf(cell), clientEra: clientEra(cell), serverEra: serverEra(cell) }
  } catch (error) {
    await site.close()
    throw error
  }
}

function exemption(id: string, cell: Cell): Outcome | undefined {
  const requirement = REQUIREMENTS[id]
  if (!requirement) throw new Error(`${id} is no requirement`)
  const { needs, why = 'it is not asked here' } = requirement
  if (!concerns(requirement, cell)) return { state: 'not applicable', why }
  if (needs === undefined || offerOf(cell)[needs] !== undefined) return undefined
  return { state: 'not applicable', why: `the server has no ${needs}` }
}

function concerns({ client, route, transport }: Requirement, cell: Cell): boolean {
  if (transport !== undefined && transport !== WAYS[cell.transport].client) return false
  if (client !== undefined && client !== clientEra(cell)) return false
  return route === undefined || route === cell.route || cell.client === 'ours'
}

function withLimit<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${LIMIT} ms`)), LIMIT)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const code = (error as { code?: unknown } | undefined)?.code
  const prefix = typeof code === 'number' ? `${code} ` : ''
  return `${prefix}${message}`.replace(/\s+/g, ' ').slice(0, 240)
}
