import { relative } from 'node:path'
import { reasonOf } from '../../errors/errors.ts'
import type { Level } from '../../errors/health.ts'
import { plural } from '../../util/plain-text.ts'
import { findingLines, levelText } from '../output/findings.ts'
import type { Terminal } from '../output/terminal.ts'
import { examine, type Examined, type ExamineFlags } from './examine.ts'
import type { Machine } from './patient.ts'
import type { Complaint } from './table.ts'

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
export async function sayDoctor(flags: DoctorFlags, terminal: Terminal, machine: Machine): Promise<number> {
  const first = await examine(flags, terminal, machine)
  const mended = flags.fix ? await mendAll(first.findings, flags['dry-run']) : []
  const isMended = mended.length > 0 && !flags['dry-run']
  const now = isMended ? await examine(flags, terminal, machine) : first
  if (flags.json) terminal.out.json(plain(now, mended, flags))
  else for (const line of lines(now, mended, flags, terminal)) terminal.out.line(line)
  return EXITS[now.level]
}

/** One after another, as some are about the same file. */
async function mendAll(findings: readonly Complaint[], isDry: boolean): Promise<Mended[]> {
  const mended: Mended[] = []
  for (const { code, mend } of findings) {
    if (mend === undefined) continue
    const why = isDry ? undefined : await mend.run().then(() => undefined, reasonOf)
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
