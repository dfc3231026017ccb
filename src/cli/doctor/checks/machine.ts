import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { amountText } from '../../../util/plain-text.ts'
import { stateDirectory } from '../../serve/state-directory.ts'
import { complaint, type Complaint } from '../table.ts'
import type { Patient } from '../patient.ts'

/** As package.json has it in `engines`. */
export const OLDEST_NODE = '22.19'

const MIB = 1024 * 1024
const FULL = 10 * MIB
const LOW = 200 * MIB
/** No version was made before. */
const EARLIEST = Date.UTC(2026, 0, 1)

/** Findings about Node, environment, clock and disk. */
export async function machineFindings(patient: Patient): Promise<Complaint[]> {
  return [...nodeFindings(patient), ...environmentFindings(patient), ...(await diskFindings(patient))]
}

function nodeFindings({ machine }: Patient): Complaint[] {
  const isOld = compare(machine.node, OLDEST_NODE) < 0
  const date = new Date(machine.now())
  return [
    ...(isOld ? [complaint('node-old', { version: machine.node, wanted: OLDEST_NODE })] : []),
    ...(date.getTime() < EARLIEST ? [complaint('clock-wrong', { date: date.toISOString() })] : []),
  ]
}

function compare(one: string, other: string): number {
  const [a, b] = [one, other].map(text => text.split('.').map(part => Number.parseInt(part, 10)))
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function environmentFindings({ terminal: { environment } }: Patient): Complaint[] {
  const { HOME, USERPROFILE, XDG_RUNTIME_DIR: path } = environment
  const isHomeless = !HOME && !USERPROFILE
  const isLost = path !== undefined && path !== '' && !isOwnDirectory(path)
  return [
    ...(isHomeless ? [complaint('home-missing')] : []),
    ...(isLost ? [complaint('runtime-directory', { path })] : []),
  ]
}

function isOwnDirectory(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  const own = process.geteuid?.()
  return found !== undefined && found.isDirectory() && (own === undefined || found.uid === own)
}

async function diskFindings({ file, terminal, machine }: Patient): Promise<Complaint[]> {
  const state = stateDirectory({ file: file ?? 'any' }, terminal)
  if (state === undefined) return []
  const path = existing(state)
  const free = await machine.freeBytes(path)
  if (free === undefined || free >= LOW) return []
  return [complaint(free < FULL ? 'disk-full' : 'disk-low', { path, free: amountText(free) })]
}

/** The place itself, or the nearest above it that is there. */
function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path))
}
