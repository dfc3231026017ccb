import { LIST_CHANGES, ownPackage, type Config, type Plugin, type PluginApi } from '../../src/plugin.ts'
import { check } from './check.ts'
import type { Cluster } from './cluster.ts'
import { ERRORS, HEALTH } from './errors.ts'
import type { News } from './news.ts'

type ClusterConfig = NonNullable<Config['cluster']>

/** Notifications of servers that replicas tell each other. */
const NEWS = [...LIST_CHANGES, 'notifications/resources/updated']

/** Makes one gateway of many processes, on a Redis. */
export const cluster: Plugin<ClusterConfig> = {
  name: 'cluster',
  claims: { section: 'cluster' },
  early: true,
  errors: ERRORS,
  health: HEALTH,
  check,
  commands: () => import('./status.ts'),
  reads: ({ cluster: own }) => (own?.tls === undefined ? [] : [own.tls.cert, own.tls.key, own.tls.ca]),
  async setup(api) {
    const { hooks, config, options, directory } = api
    const { describeReplicas, figuresOf, findingsAbout } = await import('./status.ts')
    const made = await openCluster(api)
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
    hooks.health.tap(findings => [...findings, ...findingsAbout(made)])
    hooks.figures.tap(figures => [...figures, ...figuresOf(made)])
    hooks.load.tap(load => ({ ...load, replica: made.directory.id }))
    hooks.control.for('cluster.replicas').tap({ looks: true }, () => describeReplicas(made))
  },
}

/** Exchanges news of lists and resources with the other replicas. */
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

/** The cluster of this process, the same for every generation. */
async function openCluster(api: PluginApi<ClusterConfig>): Promise<Cluster> {
  const { slot, options, clock, log, directory } = api
  const { Cluster: Made } = await import('./cluster.ts')
  const kept = slot.gateway((): { cluster?: Cluster } => ({}))
  if (kept.cluster?.hasEnded === false) return kept.cluster
  const { RedisStore } = await import('./redis/redis-store.ts')
  const store = await RedisStore.make({ redis: options.redis, directory, clock, log })
  const { version } = ownPackage()
  try {
    return (kept.cluster = new Made(options, store, { clock, log, version, directory }))
  } catch (error) {
    store.close()
    throw error
  }
}
