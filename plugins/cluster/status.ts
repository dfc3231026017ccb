import type { CommandCall, HealthFinding, JsonObject, Metric, PluginCommands } from '../../src/plugin.ts'
import { formatDuration } from '../../src/plugin.ts'
import type { Cluster } from './cluster.ts'
import type { ReplicaEntry } from './replica-directory.ts'
import { found } from './errors.ts'

export const commands: PluginCommands = {
  replicas: {
    summary: 'Show the replicas of this gateway.',
    description: 'Requires cluster. A star marks the replica that answers.',
    examples: ['gateway replicas', 'gateway replicas --json'],
    gateway: 'running',
    async run(call) {
      // Replicas on one machine share a configuration and know each other, so any one can answer.
      const status = await call.withGateway('one', ask => ask('cluster.replicas'))
      call.print(status, () => formatReplicas(status, call))
    },
  },
}

/** Builds the replica status for control commands. */
export async function describeReplicas(cluster: Cluster): Promise<JsonObject> {
  const { forwarded, peerServer, directory, store } = cluster
  const entries = await cluster.listReplicas()
  return {
    self: directory.id,
    store: store.isUp ? 'up' : 'away',
    ...(store.refusal === undefined ? {} : { refusal: store.refusal }),
    handedOn: forwarded,
    taken: peerServer.accepted,
    refused: peerServer.refused,
    forged: directory.forged,
    replicas: entries.map(entry => ({ ...entry, isSelf: entry.id === directory.id })),
  }
}

export function listFindings(cluster: Cluster): HealthFinding[] {
  const { plainAddress, directory } = cluster
  const own = [
    ...checkStore(cluster),
    ...(plainAddress === undefined ? [] : [found('cluster-plain', { address: plainAddress })]),
  ]
  const differences = [
    findDifference(directory.entries, 'version', 'versions'),
    findDifference(directory.entries, 'config', 'configurations'),
  ].filter(text => text !== undefined)
  return differences.length === 0 ? own : [...own, found('cluster-mixed', { what: differences.join(', ') })]
}

function checkStore({ store }: Cluster): HealthFinding[] {
  if (!store.isUp) return [found('cluster-store-away', {})]
  return store.refusal === undefined ? [] : [found('cluster-store-refuses', { why: store.refusal })]
}

function findDifference(entries: readonly ReplicaEntry[], key: 'version' | 'config', name: string): string | undefined {
  const different = new Set(entries.map(entry => entry[key]))
  return different.size > 1 ? `${different.size} ${name}` : undefined
}

export function listFigures({ forwarded, peerServer, directory, store }: Cluster): Metric[] {
  const gauges = [
    ['replicas', 'Live replicas at the last refresh.', directory.entries.length],
    ['cluster_store_up', 'Whether Redis is available.', store.isUp ? 1 : 0],
  ] as const
  const counters = [
    ['cluster_handed_on', 'Requests forwarded to other replicas.', forwarded],
    ['cluster_taken', 'Requests accepted from other replicas.', peerServer.accepted],
    ['cluster_refused', 'Forwarded requests that were refused.', peerServer.refused],
    ['cluster_forged', 'Directory entries that no replica of this gateway wrote.', directory.forged],
  ] as const
  return [
    ...gauges.map(([name, help, value]) => createMetric(name, 'gauge', help, { value })),
    ...counters.map(([name, help, value]) => createMetric(name, 'counter', help, { suffix: '_total', value })),
  ]
}

function createMetric(name: string, type: Metric['type'], help: string, sample: Metric['samples'][number]): Metric {
  return { name: `tapgate_${name}`, type, help, samples: [sample] }
}

type ReplicaRow = ReplicaEntry & { readonly isSelf: boolean }

function formatReplicas(status: JsonObject, { table }: Pick<CommandCall, 'table'>): string[] {
  const rows = (status.replicas as readonly ReplicaRow[]).map(({ id, address, started, version, config, isSelf }) => [
    ...[isSelf ? `${id} *` : id, address, version, config],
    formatDuration(Math.max(0, Date.now() - started)),
  ])
  const { store, handedOn, taken, refused, refusal } = status
  const but = typeof refusal === 'string' ? `, and rejects commands: ${refusal}` : ''
  return [
    ...table([['replica', 'address', 'version', 'configuration', 'up'], ...rows]),
    '',
    `Redis is ${String(store)}${but}. This replica (*): ${String(handedOn)} requests forwarded, ${String(taken)} accepted, ${String(refused)} refused`,
  ]
}
