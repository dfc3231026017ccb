import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { CommandFinding } from '../../api/command.ts'
import { GatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { Health, HealthLevel } from '../../errors/health.ts'
import { summarizeFindings } from '../../errors/health.ts'
import { plural } from '../../util/plain-text.ts'
import { findConfigFile, loadSource } from '../load-source.ts'
import type { QueryFlags } from '../local/gateway-handle.ts'
import { formatFindings, formatLevel } from '../output/format-findings.ts'
import { printReport } from '../output/report.ts'
import type { Terminal } from '../output/terminal.ts'
import { checkClients } from './client-checks.ts'
import { checkConfiguration, checkFiles, checkOnline, checkRunning, createLoadFindings } from './checks.ts'
import type { DoctorContext, DoctorFinding } from './doctor-findings.ts'
import { createFinding } from './doctor-findings.ts'

export interface DoctorFlags extends ExamineFlags {
  readonly fix: boolean
  readonly json: boolean
  readonly format?: string | undefined
}

/** Stable exit codes, for monitoring and scripts. */
export const EXIT_CODES: Readonly<Record<HealthLevel, number>> = { ok: 0, info: 0, warning: 6, error: 6 }

interface RepairResult {
  readonly code: string
  readonly action: string
  /** Failure reason. */
  readonly why?: string
}

/** Prints findings and applies safe fixes with `--fix`. Returns the exit code. */
export async function runDoctor(flags: DoctorFlags, terminal: Terminal): Promise<number> {
  const first = await examine(flags, terminal)
  const repairs = flags.fix ? await repairAll(first.findings) : []
  const now = repairs.length > 0 ? await examine(flags, terminal) : first
  printReport(flags, terminal, [
    createDoctorJson(now, repairs, flags),
    () => formatDoctor(now, repairs, flags, terminal),
    () => createReportFindings(now),
  ])
  return EXIT_CODES[now.level]
}

function createReportFindings({ config, findings }: DoctorReport): CommandFinding[] {
  return findings.map(({ code, level, summary, fix, location }) => ({
    rule: code,
    level: level === 'info' ? 'note' : level,
    message: `${summary} (${fix})`,
    ...(location ?? { file: config }),
  }))
}

/** Sequential, since several fixes may change the same file. */
async function repairAll(findings: readonly DoctorFinding[]): Promise<RepairResult[]> {
  const repairs: RepairResult[] = []
  for (const { code, repair } of findings) {
    if (repair === undefined) continue
    const why = await repair.run().then(() => undefined, getErrorMessage)
    repairs.push({ code, action: repair.action, ...(why === undefined ? {} : { why }) })
  }
  return repairs
}

function createDoctorJson(
  { level, config, findings }: DoctorReport,
  repairs: readonly RepairResult[],
  { fix }: DoctorFlags,
): object {
  return {
    level,
    config,
    findings: findings.map(({ repair, ...finding }) => ({ ...finding, repair: repair?.action })),
    ...(fix ? { repaired: repairs } : {}),
  }
}

function formatDoctor(
  { level, config, findings }: DoctorReport,
  repairs: readonly RepairResult[],
  { fix }: DoctorFlags,
  { cwd, out }: Terminal,
): string[] {
  const done = repairs.map(({ action, why }) =>
    why === undefined
      ? `${out.paint('green', 'fixed:')} ${action}`
      : `${out.paint('red', 'failed:')} ${action}: ${why}`,
  )
  const about = config === undefined ? 'no configuration' : relative(cwd, config) || config
  const counts = plural(findings.length, 'finding')
  const safe = findings.filter(({ repair }) => repair !== undefined).length
  const isOffered = !fix && safe > 0
  const end = isOffered ? ['', out.paint('dim', `gateway doctor --fix can fix ${safe} of them`)] : []
  return [
    ...done,
    `${out.paint('bold', about)}: ${findings.length === 0 ? out.paint('green', 'no problems found') : `${formatLevel(level, out)}, ${counts}`}`,
    ...formatFindings(findings, out),
    ...end,
  ]
}

interface ExamineFlags extends QueryFlags {
  /** Start the servers and request their lists. */
  readonly online?: boolean | undefined
}

/** Findings, most severe first. */
interface DoctorReport extends Health {
  readonly findings: readonly DoctorFinding[]
  /** Checked configuration file. */
  readonly config: string | undefined
}

/** Checks a configuration, the machine, the running gateway and the clients, without changes. */
export async function examine(flags: ExamineFlags, terminal: Terminal): Promise<DoctorReport> {
  const { context, findings: setupFindings } = await createContext(flags, terminal)
  const otherFindings = await Promise.all([
    checkRunning(context),
    checkConfiguration(context),
    checkFiles(context),
    checkClients(context),
  ])
  const all = [...setupFindings, ...otherFindings.flat()]
  const isSound = !all.some(({ code }) => code === 'plugin-broken')
  const online = flags.online === true && isSound ? await checkOnline(context) : []
  return { config: context.file, ...summarizeFindings([...all, ...online]) }
}

async function createContext(
  flags: ExamineFlags,
  terminal: Terminal,
): Promise<{ context: DoctorContext; findings: DoctorFinding[] }> {
  let file: string | undefined
  const context: DoctorContext = { flags, terminal, file, source: undefined }
  try {
    file = await findConfigFile(flags, terminal)
    const source = await loadSource(flags, terminal, flags.online === true ? 'run' : 'leave')
    return { context: { ...context, file, source }, findings: [] }
  } catch (error) {
    file ??= getUntrustedFile(error)
    if (file !== undefined && existsSync(file))
      return { context: { ...context, file }, findings: createLoadFindings(error, context) }
    const missing = createFinding('config-missing', { why: `${file} does not exist` })
    return { context, findings: file === undefined ? createLoadFindings(error, context) : [missing] }
  }
}

/** Returns a configuration file that was rejected because other users can write it. */
function getUntrustedFile(error: unknown): string | undefined {
  if (!(error instanceof GatewayError) || error.code !== 'GW_CONFIG_UNTRUSTED') return undefined
  const { file } = error.fields
  return typeof file === 'string' ? file : undefined
}
