import { availableParallelism } from 'node:os'
import { gatewayError } from '../../errors/errors.ts'

/** More are of no use on any machine, and each is a process. */
const MOST = 256

/** How many processes `--workers` asks for; 1 is the gateway of one process that runs without it. */
export function workerCount(asked: string | undefined): number {
  if (asked === undefined) return 1
  const count = asked === 'auto' ? Math.min(availableParallelism(), MOST) : Number(asked)
  if (Number.isInteger(count) && count >= 1 && count <= MOST) return count
  throw gatewayError('GW_USAGE', { what: `--workers is a number from 1 to ${MOST}, or auto` })
}
