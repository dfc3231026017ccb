import type { Figure, HealthFinding, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { formatDuration } from '../../src/plugin.ts'
import type { Cluster } from './cluster.ts'
import type { Entry } from './directory.ts'
import { found } from './errors.ts'

export const commands: PluginCommands = {
  replicas: {
    summary: 'Show the replicas of this gateway, as one of them sees them.',
    description: 'With cluster only. The replica that answers has a star.',
    examples: ['gateway replicas', 'gateway replicas --json'],
    gateway: 'running',
    async run(call) {
      // Replicas on one machine share a configuration, and each knows all of them.
      const status = await call.withGateway('one', ask => ask('cluster.replicas'))
      call.print(status, () => linesOf(status, Date.now()))
    },
  },
}

/** The replicas as their owner sees them. */
export async function describeReplicas(cluster: Cluster): Promise<JsonObject> {
  const { neighbours, entrance, directory, store } = cluster
  const entries = await cluster.look()
  return {
    self: directory.id,
    store: store.isUp ? 'up' : 'away',
    ...(store.refusal === undefined ? {} : { refusal: store.refusal }),
    handedOn: neighbours.handedOn,
    taken: entrance.taken,
    refused: entrance.refused,
    forged: directory.forged,
    replicas: entries.map(entry => ({ ...entry, isSelf: entry.id === directory.id })),
  }
}

export function findingsAbout(cluster: Cluster): HealthFinding[] {
  const { plainAddress, directory } = cluster
  const own = [
    ...storeFindings(cluster),
    ...(plainAddress === undefined ? [] : [found('cluster-plain', { address: plainAddress })]),
    ...clockFindings(cluster),
  ]
  const differences = [
    differing(directory.entries, 'version', 'versions'),
    differing(directory.entries, 'config', 'configurations'),
  ].filter(text => text !== undefined)
  return differences.length === 0 ? own : [...own, found('cluster-mixed', { what: differences.join(', ') })]
}

function storeFindings({ store }: Cluster): HealthFinding[] {
  if (!store.isUp) return [found('cluster-store-away', {})]
  return store.refusal === undefined ? [] : [found('cluster-store-refuses', { why: store.refusal })]
}

function clockFindings({ entrance: { clockOff } }: Cluster): HealthFinding[] {
  if (clockOff === undefined) return []
  const how = `${formatDuration(Math.abs(clockOff))} ${clockOff > 0 ? 'ahead' : 'behind'}`
  return [found('cluster-clocks', { how })]
}

function differing(entries: readonly Entry[], key: 'version' | 'config', name: string): string | undefined {
  const different = new Set(entries.map(entry => entry[key]))
  return different.size > 1 ? `${different.size} ${name}` : undefined
}

export function figuresOf(cluster: Cluster): Figure[] {
  const { neighbours, entrance, directory, store } = cluster
  return [
    gauge('replicas', 'Replicas that live, at the last look.', directory.entries.length),
    gauge('cluster_store_up', 'Whether Redis answers.', store.isUp ? 1 : 0),
    counter(
      'cluster_handed_on',
      'Requests given to the replica that has what they are about.',
      neighbours.handedOn,
    ),
    counter('cluster_taken', 'Requests that other replicas gave to this one.', entrance.taken),
    counter('cluster_refused', 'Requests that were handed on and not taken.', entrance.refused),
    counter('cluster_forged', 'Entries of the directory that no replica has written.', directory.forged),
    counter(
      'cluster_news',
      'Changes of lists and resources that other replicas told of, and no server of this one.',
      cluster.news.heardOfOthers,
    ),
  ]
}

function gauge(name: string, help: string, value: number): Figure {
  return { name: `tapgate_${name}`, type: 'gauge', help, samples: [{ value }] }
}

function counter(name: string, help: string, value: number): Figure {
  return { name: `tapgate_${name}`, type: 'counter', help, samples: [{ suffix: '_total', value }] }
}

type Row = Entry & { readonly isSelf: boolean }

/** Rows of a table for people. */
export function linesOf(status: JsonObject, now: number): string[] {
  const replicas = status.replicas as readonly Row[]
  const rows = replicas.map(({ id, address, started, version, config, isSelf }) => [
    isSelf ? `${id} *` : id,
    address,
    version,
    config,
    formatDuration(Math.max(0, now - started)),
  ])
  const table = [['replica', 'address', 'version', 'configuration', 'up'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0))) ?? []
  const { store, handedOn, taken, refused } = status
  const but = typeof status.refusal === 'string' ? `, and refuses what it is asked: ${status.refusal}` : ''
  return [
    ...table.map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
    '',
    `Redis is ${String(store)}${but}. This replica (*): ${String(handedOn)} requests handed on, ${String(taken)} taken, ${String(refused)} refused`,
  ]
}
