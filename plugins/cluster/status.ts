import { durationText, type Figure, type HealthFinding, isObject, type JsonObject } from '../../src/plugin.ts'
import type { Cluster } from './cluster.ts'
import type { Entry } from './directory.ts'
import { found } from './errors.ts'
import type { KeptEvents } from './events/kept-events.ts'

/** Time before the end of a certificate from which on its owner is told. */
const SOON_MS = 14 * 24 * 3_600_000

/** The replicas as their owner sees them. */
export async function replicasOf(cluster: Cluster): Promise<JsonObject> {
  const { replica, sessions, neighbours, entrance, directory, store, events } = cluster
  const entries = await cluster.look()
  return {
    self: replica.id,
    store: store.isUp ? 'up' : 'away',
    ...(store.refusal === undefined ? {} : { refusal: store.refusal }),
    sessions: sessions.size,
    adopted: sessions.adopted,
    handedOn: neighbours.handedOn,
    taken: entrance.taken,
    refused: entrance.refused,
    forged: directory.forged,
    fenced: replica.fenced,
    ...(events === undefined ? {} : { events: eventsIn(events) }),
    replicas: entries.map(entry => ({ ...entry, isSelf: entry.id === replica.id })),
  }
}

function eventsIn({ written, waiting, lost, restored }: KeptEvents): JsonObject {
  return { written, waiting, lost, restored }
}

export function findingsAbout(cluster: Cluster): HealthFinding[] {
  const own = [...storeFindings(cluster), ...tlsFindings(cluster), ...clockFindings(cluster)]
  const differences = [
    differing(cluster.others, 'version', 'versions'),
    differing(cluster.others, 'config', 'configurations'),
  ].filter(text => text !== undefined)
  return differences.length === 0 ? own : [...own, found('cluster-mixed', { what: differences.join(', ') })]
}

function storeFindings({ store }: Cluster): HealthFinding[] {
  if (!store.isUp) return [found('cluster-store-away', {})]
  return store.refusal === undefined ? [] : [found('cluster-store-refuses', { why: store.refusal })]
}

/** Findings about how requests travel between replicas. */
function tlsFindings({ tls, plainAddress }: Cluster): HealthFinding[] {
  if (tls === undefined)
    return plainAddress === undefined ? [] : [found('cluster-plain', { address: plainAddress })]
  const left = tls.end - Date.now()
  if (left > SOON_MS) return []
  if (left > 0) return [found('cluster-certificate-ends', { when: `in ${durationText(left)}` })]
  return [found('cluster-certificate-ended', { when: `${durationText(-left)} ago` })]
}

function clockFindings({ entrance: { clockOff } }: Cluster): HealthFinding[] {
  if (clockOff === undefined) return []
  const how = `${durationText(Math.abs(clockOff))} ${clockOff > 0 ? 'ahead' : 'behind'}`
  return [found('cluster-clocks', { how })]
}

function differing(entries: readonly Entry[], key: 'version' | 'config', name: string): string | undefined {
  const different = new Set(entries.map(entry => entry[key]))
  return different.size > 1 ? `${different.size} ${name}` : undefined
}

export function figuresOf(cluster: Cluster): Figure[] {
  const { replica, sessions, neighbours, entrance, directory, store, others } = cluster
  return [
    gauge('replicas', 'Replicas that live, at the last look.', others.length),
    gauge('cluster_store_up', 'Whether Redis answers.', store.isUp ? 1 : 0),
    gauge('cluster_sessions', 'Sessions of this replica that others can go on with.', sessions.size),
    counter(
      'cluster_handed_on',
      'Requests given to the replica that has what they are about.',
      neighbours.handedOn,
    ),
    counter('cluster_taken', 'Requests that other replicas gave to this one.', entrance.taken),
    counter('cluster_refused', 'Requests that were handed on and not taken.', entrance.refused),
    counter('cluster_forged', 'Entries of the directory that no replica has written.', directory.forged),
    counter('cluster_adopted', 'Sessions that this replica went on with.', sessions.adopted),
    counter(
      'cluster_news',
      'Changes of lists and resources that other replicas told of, and no server of this one.',
      cluster.news.heardOfOthers,
    ),
    counter('cluster_fenced', 'Times that this replica had to take another id.', replica.fenced),
    ...(cluster.events === undefined ? [] : figuresOfEvents(cluster.events)),
  ]
}

function figuresOfEvents({ written, waiting, lost, restored }: KeptEvents): Figure[] {
  return [
    counter('cluster_events_written', 'Events of sessions that Redis was given.', written),
    gauge('cluster_events_waiting', 'Events of sessions that Redis does not have yet.', waiting),
    counter('cluster_events_lost', 'Events of sessions that were dropped before Redis had them.', lost),
    counter('cluster_events_restored', 'Events of other replicas that this one went on with.', restored),
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
  const rows = replicas.map(({ id, address, started, version, config, isSelf, isLeaving }) => [
    isSelf ? `${id} *` : id,
    address,
    version,
    config,
    durationText(Math.max(0, now - started)) + (isLeaving === true ? ', leaving' : ''),
  ])
  const table = [['replica', 'address', 'version', 'configuration', 'up'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0))) ?? []
  const { store, sessions, adopted, handedOn, taken, refused, fenced, events } = status
  const but = typeof status.refusal === 'string' ? `, and refuses what it is asked: ${status.refusal}` : ''
  return [
    ...table.map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
    '',
    `Redis is ${String(store)}${but}. This replica (*): ${String(sessions)} sessions, ${String(adopted)} adopted; ${String(handedOn)} requests handed on, ${String(taken)} taken, ${String(refused)} refused; fenced ${String(fenced)} times`,
    ...lineOfEvents(events),
  ]
}

function lineOfEvents(events: unknown): string[] {
  if (!isObject(events)) return []
  const [written, waiting, lost, restored] = ['written', 'waiting', 'lost', 'restored'].map(key =>
    String(events[key]),
  )
  return [
    `Events in Redis: ${written} written, ${waiting} waiting, ${lost} lost; ${restored} of other replicas restored`,
  ]
}
