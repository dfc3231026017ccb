import { LIST_CHANGES, ownPackage, type Config, type Plugin, type PluginApi } from '../../src/plugin.ts'
import { check } from './check.ts'
import type { Cluster } from './cluster.ts'
import { ERRORS, HEALTH } from './errors.ts'
import type { KeptEvents } from './events/kept-events.ts'
import type { News } from './news.ts'

type ClusterConfig = NonNullable<Config['cluster']>

/** Notifications of servers that replicas tell each other. */
const NEWS = [...LIST_CHANGES, 'notifications/resources/updated']
/** Requests of a client that make its session what it is. */
const TELLING = ['initialize', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']

/** Makes one gateway of many processes on many machines, on a Redis. */
export const cluster: Plugin<ClusterConfig> = {
  name: 'cluster',
  claims: { section: 'cluster' },
  early: true,
  errors: ERRORS,
  health: HEALTH,
  check,
  commands: () => import('./commands.ts'),
  reads: ({ cluster: own }) => (own?.tls === undefined ? [] : [own.tls.cert, own.tls.key, own.tls.ca]),
  async setup(api) {
    const { hooks, config, options, directory } = api
    const { figuresOf, findingsAbout, replicasOf } = await import('./status.ts')
    const made = await clusterOf(api)
    let isUsed = false

    hooks.sharedStore.tap(() => made.shared)
    hooks.ready.tap(() => {
      made.become(options, config, directory)
      isUsed = true
      return made.start()
    })
    hooks.close.tap(() => (isUsed ? made.stop() : made.closeUnused()))
    hooks.neighbours.tap(() => made.neighbours)
    tellNews(api, made.news)
    if (isAdoptable(config)) hooks.settled.tap({ methods: TELLING }, exchange => made.sessions.note(exchange))
    hooks.sessionEnd.tap((session, reason) => made.sessions.ended(session, reason))
    hooks.draining.tap(delayMs => made.drain(delayMs))
    hooks.stopping.tap(() => made.leave())
    hooks.health.tap(findings => [...findings, ...findingsAbout(made)])
    hooks.figures.tap(figures => [...figures, ...figuresOf(made)])
    hooks.load.tap(load => ({ ...load, replica: made.replica.id }))
    hooks.control.for('cluster.replicas').tap({ looks: true }, () => replicasOf(made))
  },
}

/** Tells the other replicas what a server tells this one of its lists and resources, and the other way round. */
function tellNews({ hooks, config, upstreamSays }: PluginApi<ClusterConfig>, news: News): void {
  const isForAll = (name: string): boolean => config.upstreams[name]?.isolation === 'shared'
  hooks.notification.tap({ stage: 'trace', methods: NEWS }, (said, { direction, upstream, exchange }) => {
    if (direction === 'client' && upstream !== undefined && exchange === undefined && isForAll(upstream))
      news.heard(upstream, said)
  })
  hooks.ready.tap(() => {
    const names = Object.keys(config.upstreams).filter(isForAll)
    news.become({ names, says: upstreamSays })
  })
}

/** The one of this process, whichever generation asks. */
async function clusterOf(api: PluginApi<ClusterConfig>): Promise<Cluster> {
  const { slot, options, clock, log, directory } = api
  const { Cluster: Made } = await import('./cluster.ts')
  const kept = slot.gateway((): { cluster?: Cluster } => ({}))
  if (kept.cluster?.hasEnded === false) return kept.cluster
  const Events = await eventsFor(options)
  const { RedisStore } = await import('./store/redis-store.ts')
  const store = await RedisStore.make({ redis: options.redis, directory, clock, log })
  const { version } = ownPackage()
  try {
    return (kept.cluster = new Made(options, store, { clock, log, version, directory, Events }))
  } catch (error) {
    store.close()
    throw error
  }
}

/** The place for events of sessions that all replicas find; undefined where each owner keeps its own. */
async function eventsFor(options: ClusterConfig): Promise<typeof KeptEvents | undefined> {
  return options.events === 'redis' ? (await import('./events/kept-events.ts')).KeptEvents : undefined
}

/** False where a server keeps state for each session that another replica could not go on with. */
function isAdoptable({ upstreams }: Config): boolean {
  return Object.values(upstreams).every(({ enabled, isolation }) => !enabled || isolation !== 'session')
}
