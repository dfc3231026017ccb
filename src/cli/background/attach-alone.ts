import { parseArgs } from 'node:util'
import type { Problem } from '../../config/problem.ts'
import { GatewayError, ownerReasonOf } from '../../errors/errors.ts'
import { attach } from './attach.ts'
import type { Host } from '../host.ts'

const OPTIONS = {
  config: { type: 'string', short: 'c' },
  env: { type: 'string' },
  set: { type: 'string', multiple: true },
  profile: { type: 'string' },
  label: { type: 'string' },
  'no-start': { type: 'boolean' },
} as const

/**
 * Runs `gateway attach` without the rest of the command line, which would take more memory than the relay itself. Returns
 * the exit code, or undefined for what the command line must look at: help, mistakes, and what goes wrong.
 */
export async function attachAlone(args: readonly string[], host: Host): Promise<number | undefined> {
  try {
    return await attach(parseArgs({ args: [...args], options: OPTIONS }).values, host)
  } catch (error) {
    // A mistake in the arguments, or a flag such as --help, is for the whole command line.
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
