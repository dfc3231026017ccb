import { existsSync } from 'node:fs'
import { GatewayError } from '../../errors/errors.ts'
import { healthFrom, type Health } from '../../errors/health.ts'
import { configFile } from '../config-file.ts'
import type { AskFlags } from '../local/ask-gateway.ts'
import { loadSource } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'
import { clientFindings } from './checks/clients.ts'
import { configurationFindings, unloadable } from './checks/configuration.ts'
import { machineFindings } from './checks/machine.ts'
import { placeFindings } from './checks/places.ts'
import { onlineFindings, runningFindings } from './checks/running.ts'
import { listenerFindings, serverFindings } from './checks/servers.ts'
import type { Machine, Patient } from './patient.ts'
import { complaint, type Complaint } from './table.ts'

/** The flags of `gateway doctor` that say what is examined. */
export interface ExamineFlags extends AskFlags {
  /** Ask the servers for what they offer, which starts them. */
  readonly online?: boolean | undefined
}

/** All that was found, the worst first. */
export interface Examined extends Health {
  readonly findings: readonly Complaint[]
  /** The configuration that was looked at. */
  readonly config: string | undefined
}

/** Looks at a configuration, its machine, its gateway and its clients. Nothing is changed. */
export async function examine(flags: ExamineFlags, terminal: Terminal, machine: Machine): Promise<Examined> {
  const { patient, found } = await admit(flags, terminal, machine)
  const [running, ...others] = await Promise.all([
    runningFindings(patient),
    configurationFindings(patient),
    machineFindings(patient),
    placeFindings(patient),
    clientFindings(patient),
  ])
  const listeners = running.isRunning ? [] : await listenerFindings(patient)
  const all = [...found, ...running.found, ...others.flat(), ...serverFindings(patient), ...listeners]
  const isSound = !all.some(({ code }) => code === 'plugin-broken')
  const online = flags.online === true && isSound ? await onlineFindings(patient) : []
  return { config: patient.file, ...healthFrom([...all, ...online]) }
}

async function admit(
  flags: ExamineFlags,
  terminal: Terminal,
  machine: Machine,
): Promise<{ patient: Patient; found: Complaint[] }> {
  let file: string | undefined
  const patient: Patient = { flags, terminal, machine, file, source: undefined }
  try {
    file = await configFile(flags, terminal)
    const source = await loadSource(flags, terminal, flags.online === true ? 'run' : 'leave')
    return { patient: { ...patient, file, source }, found: [] }
  } catch (error) {
    file ??= refusedFile(error)
    if (file !== undefined && existsSync(file))
      return { patient: { ...patient, file }, found: unloadable(error, patient) }
    const missing = complaint('config-missing', { why: `${file} is not there` })
    return { patient, found: file === undefined ? unloadable(error, patient) : [missing] }
  }
}

/** The configuration file that was found and refused, as other users can write it. */
function refusedFile(error: unknown): string | undefined {
  if (!(error instanceof GatewayError) || error.code !== 'GW_CONFIG_UNTRUSTED') return undefined
  const { file } = error.fields
  return typeof file === 'string' ? file : undefined
}
