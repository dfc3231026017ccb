import type { Config } from '../../src/plugin.ts'
import { addressOf, hostAndPort } from './address.ts'

type ClusterConfig = NonNullable<Config['cluster']>

const MOST_PORT = 65_535

/** Options of one of several processes of a machine: each is a replica, and takes what is handed on at the next port. */
export function shareOf(
  options: ClusterConfig,
  processes: number,
  number: number,
): { readonly options: ClusterConfig } | { readonly refused: string } {
  const { listen, address } = options
  const ports = [listen, address].map(text => hostAndPort(text ?? '')?.port ?? 0)
  if (Math.max(...ports) + processes - 1 > MOST_PORT)
    return { refused: 'cluster.listen needs a port for each worker, counted from the one that it names' }
  const own = { ...options, listen: nth(listen, number) }
  return { options: address === undefined ? own : { ...own, address: nth(address, number) } }
}

/** The same host with a port of its own for each process; a port that is chosen by the system stays so. */
function nth(text: string, number: number): string {
  const found = hostAndPort(text)
  return found === undefined || found.port === 0 ? text : addressOf(found.host, found.port + number - 1)
}
