import { livingSockets } from '../../control/sockets.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import type { Terminal } from '../output/terminal.ts'

/** The failure of a start; where the gateway of the same configuration has the address, an error that says so. */
export async function sayWhoHasIt(
  failure: unknown,
  { file, env }: { readonly file: string | undefined; readonly env: string | undefined },
  { environment }: Terminal,
): Promise<unknown> {
  if (file === undefined || !isTaken(failure)) return failure
  const sockets = await livingSockets({ file, env, environment })
  return sockets.length === 0 ? failure : gatewayError('GW_RUNS_ALREADY', { config: file, cause: failure })
}

function isTaken(failure: unknown): boolean {
  return failure instanceof GatewayError && failure.code === 'GW_LISTEN' && failure.fields['isTaken'] === true
}
