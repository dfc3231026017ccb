import { GatewayError, ownerReasonOf } from '../../errors/errors.ts'
import { FAST_FLAGS } from '../fast-flags.gen.ts'
import { readFlags } from '../read-flags.ts'
import { attach } from './attach.ts'

/**
 * Runs `gateway attach` without the rest of the command line, which would take more memory than the relay itself. Returns
 * the exit code, or undefined for what the command line must look at: help, mistakes, and what goes wrong.
 */
export async function attachAlone(
  args: readonly string[],
  host: NodeJS.Process,
): Promise<number | undefined> {
  const flags = readFlags(args, FAST_FLAGS.attach)
  if (flags === undefined || flags.json === true) return undefined
  try {
    return await attach(flags, host)
  } catch (error) {
    if (!(error instanceof GatewayError)) return undefined
    host.stderr.write(`error ${error.code}: ${ownerReasonOf(error)}\nhint: ${error.hint}\n`)
    return error.entry.exit ?? 1
  }
}
