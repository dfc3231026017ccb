import type { LoadedConfig } from '../../config/index.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import { withUnstarted } from '../local/ask-gateway.ts'
import type { Terminal } from '../output/terminal.ts'

/** Builds a gateway of which nothing is started, and says why that fails; undefined where it does not. */
export async function silentTrial(
  source: LoadedConfig,
  terminal: Terminal,
): Promise<GatewayError | undefined> {
  try {
    await withUnstarted(source, terminal, () => Promise.resolve())
    return undefined
  } catch (error) {
    return error instanceof GatewayError ? error : gatewayError('GW_INTERNAL', { cause: error })
  }
}
