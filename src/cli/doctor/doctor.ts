import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { GatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { Health, Level } from '../../errors/health.ts'
import { summarizeFindings } from '../../errors/health.ts'
import { plural } from '../../util/plain-text.ts'
import { configFile, loadSource } from '../load-source.ts'
import type { AskFlags } from '../local/ask-gateway.ts'
import { findingLines, levelText } from '../output/findings.ts'
import type { Terminal } from '../output/terminal.ts'
import { clientFindings } from './checks/clients.ts'
import { configurationFindings, unloadable } from './checks/configuration.ts'
import { placeFindings } from './checks/places.ts'
import { listenerFindings, onlineFindings, runningFindings, serverFindings } from './checks/servers.ts'
import type { Complaint, DoctorContext } from './table.ts'
import { complaint } from './table.ts'

/** The flags of `gateway doctor`. */
export interface DoctorFlags extends ExamineFlags {
  readonly fix: boolean
  readonly 'dry-run': boolean
  readonly json: boolean
}

/** Exit codes, which stay: monitors and scripts read them. */
export const EXITS: Readonly<Record<Level, number>> = { ok: 0, info: 0, warning: 1, error: 6 }

/** Result of one repair. */
interface Mended {
  readonly code: string
  readonly says: string
  /** Reason why it failed. */
  readonly why?: string
}

/** Says what is wrong and what to do; with `fix` does what is safe. Returns the exit code. */
export async function sayDoctor(
  flags: DoctorFlags,
  terminal: Terminal,
  host: DoctorContext['host'],
): Promise<number> {
  const first = await examine(flags, terminal, host)
  const mended = flags.fix ? await mendAll(first.findings, flags['dry-run']) : []
  const isMended = mended.length > 0 && !flags['dry-run']
  const now = isMended ? await examine(flags, terminal, host) : first
  if (flags.json) terminal.out.json(plain(now, mended, flags))
  else for (const line of lines(now, mended, flags, terminal)) terminal.out.line(line)
  return EXITS[now.level]
}

/** One after another, as some are about the same file. */
async function mendAll(findings: readonly Complaint[], isDry: boolean): Promise<Mended[]> {
  const mended: Mended[] = []
  for (const { code, mend } of findings) {
    if (mend === undefined) continue
    const why = isDry ? undefined : await mend.run().then(() => undefined, getErrorMessage)
    mended.push({ code, says: mend.says, ...(why === undefined ? {} : { why }) })
  }
  return mended
}

function plain(
  { level, config, findings }: Examined,
  mended: readonly Mended[],
  { fix }: DoctorFlags,
): object {
  return {
    level,
    config,
    findings: findings.map(({ mend, ...finding }) => ({ ...finding, mends: mend?.says })),
    ...(fix ? { mended } : {}),
  }
}

function lines(
  { level, config, findings }: Examined,
  mended: readonly Mended[],
  { fix, 'dry-run': isDry }: DoctorFlags,
  { cwd, out }: Terminal,
): string[] {
  const done = mended.map(({ says, why }) => {
    if (why !== undefined) return `${out.paint('red', 'could not')} ${says}: ${why}`
    return `${out.paint('green', isDry ? 'would' : 'did')} ${says}`
  })
  const about = config === undefined ? 'no configuration' : relative(cwd, config) || config
  const counts = plural(findings.length, 'finding')
  const safe = findings.filter(({ mend }) => mend !== undefined).length
  const isOffered = !fix && safe > 0
  const end = isOffered ? ['', out.paint('dim', `gateway doctor --fix mends ${safe} of them`)] : []
  return [
    ...done,
    `${out.paint('bold', about)}: ${findings.length === 0 ? out.paint('green', 'all is well') : `${levelText(level, out)}, ${counts}`}`,
    ...findingLines(findings, out),
    ...end,
  ]
}

/** The flags of `gateway doctor` that say what is examined. */
interface ExamineFlags extends AskFlags {
  /** Ask the servers for what they offer, which starts them. */
  readonly online?: boolean | undefined
}

/** All that was found, the worst first. */
interface Examined extends Health {
  readonly findings: readonly Complaint[]
  /** The configuration that was looked at. */
  readonly config: string | undefined
}

/** Looks at a configuration, its machine, its gateway and its clients. Nothing is changed. */
export async function examine(
  flags: ExamineFlags,
  terminal: Terminal,
  host: DoctorContext['host'],
): Promise<Examined> {
  const { patient, found } = await admit(flags, terminal, host)
  const [running, ...others] = await Promise.all([
    runningFindings(patient),
    configurationFindings(patient),
    placeFindings(patient),
    clientFindings(patient),
  ])
  const listeners = running.isRunning ? [] : await listenerFindings(patient)
  const all = [...found, ...running.found, ...others.flat(), ...serverFindings(patient), ...listeners]
  const isSound = !all.some(({ code }) => code === 'plugin-broken')
  const online = flags.online === true && isSound ? await onlineFindings(patient) : []
  return { config: patient.file, ...summarizeFindings([...all, ...online]) }
}

async function admit(
  flags: ExamineFlags,
  terminal: Terminal,
  host: DoctorContext['host'],
): Promise<{ patient: DoctorContext; found: Complaint[] }> {
  let file: string | undefined
  const patient: DoctorContext = { flags, terminal, host, file, source: undefined }
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
