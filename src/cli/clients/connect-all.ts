import { ownCommand } from '../background/own-program.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Client } from './clients.ts'
import { carryOut, planFor, type Plan } from './connect.ts'
import { connectionsOf } from './say.ts'
import type { Host } from '../host.ts'

interface ConnectingOptions {
  readonly terminal: Terminal
  readonly host: Host
  /** Whether these are to be written. */
  agreeTo(plans: readonly Plan[]): Promise<boolean>
}

/** Client that was connected, and the file that says so. */
export interface ConnectedClient {
  readonly client: string
  readonly file: string
}

/** Clients that were connected, and why others were not. */
export interface Connecting {
  readonly connected: readonly ConnectedClient[]
  readonly left: readonly string[]
  readonly isDeclined: boolean
}

/** Writes the gateway of a configuration into the settings of clients; those that cannot take it are left as they are. */
export async function connectClients(
  clients: readonly Client[],
  config: string,
  { terminal, host, agreeTo }: ConnectingOptions,
): Promise<Connecting> {
  const values = { name: 'gateway', line: [...ownCommand(terminal, host), 'attach', '-c', config] }
  const options = { scope: 'user', values, connections: connectionsOf(terminal), terminal } as const
  const plans = await Promise.all(clients.map(client => planFor(client, options)))
  const writes = plans.filter(({ after }) => after !== undefined)
  const left = plans.flatMap(({ client, problem }) =>
    problem === undefined ? [] : [`${client.title}: ${problem}`],
  )
  if (writes.length === 0) return { connected: [], left, isDeclined: false }
  if (!(await agreeTo(writes))) return { connected: [], left, isDeclined: true }
  const connected: ConnectedClient[] = []
  for (const plan of writes) {
    await carryOut(plan, options)
    connected.push({ client: plan.client.title, file: plan.file ?? '' })
  }
  return { connected, left, isDeclined: false }
}
