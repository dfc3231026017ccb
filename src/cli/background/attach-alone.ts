import type { Problem } from '../../config/problem.ts'
import { GatewayError, ownerReasonOf } from '../../errors/errors.ts'
import { FAST_FLAGS } from '../fast-flags.gen.ts'
import { readFlags } from '../read-flags.ts'
import { attach } from './attach.ts'
import type { Host } from '../host.ts'

/**
 * Runs `gateway attach` without the rest of the command line, which would take more memory than the relay itself. Returns
 * the exit code, or undefined for what the command line must look at: help, mistakes, and what goes wrong.
 */
export async function attachAlone(args: readonly string[], host: Host): Promise<number | undefined> {
  const flags = readFlags(args, FAST_FLAGS.attach)
  if (flags === undefined || flags.json === true) return undefined
  try {
    return await attach(flags, host)
  } catch (error) {
    if (!(error instanceof GatewayError)) return undefined
    const problems = await problemLines(error, host.cwd())
    const lines = [`error ${error.code}: ${ownerReasonOf(error)}`, ...problems, `hint: ${error.hint}`]
    host.stderr.write(lines.map(line => `${line}\n`).join(''))
    return error.entry.exit ?? 1
  }
}

/** Lines that say what is wrong with the configuration, where that is the error; loaded for that alone. */
async function problemLines({ fields }: GatewayError, cwd: string): Promise<string[]> {
  const problems = (fields.problems ?? []) as readonly Problem[]
  if (problems.length === 0) return []
  const { formatProblem } = await import('../../config/problem.ts')
  return problems.map(
    problem => `  ${problem.severity === 'warning' ? 'warning ' : ''}${formatProblem(problem, cwd)}`,
  )
}
