import { ownPackage, type Config, type Plugin, type PluginApi } from '../../src/plugin.ts'
import { check } from './check.ts'
import type { Cluster } from './cluster.ts'
import { ERRORS, HEALTH } from './errors.ts'

type ClusterConfig = NonNullable<Config['cluster']>

/** Requests of a client that make its session what it is. */
const TELLING = ['initialize', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']

/** Makes one gateway of many processes on many machines, on a Redis. */
export const cluster: Plugin<ClusterConfig> = {
  name: 'cluster',
  claims: { section: 'cluster' },
  errors: ERRORS,
  health: HEALTH,
  check,
  commands: () => import('./commands.ts'),
  share: () => ({ refused: 'cluster makes replicas of single processes: leave --workers out' }),
  async setup(api) {
    const { hooks, config, options } = api
    const { figuresOf, findingsAbout, replicasOf } = await import('./status.ts')
    const made = await clusterOf(api)
    let isUsed = false

    hooks.neighbours.tap(() => made.neighbours)
    hooks.ready.tap(() => {
      made.become(options, config)
      isUsed = true
      return made.start()
    })
    if (isAdoptable(config)) hooks.settled.tap({ methods: TELLING }, exchange => made.sessions.note(exchange))
    hooks.sessionEnd.tap((session, reason) => made.sessions.ended(session, reason))
    hooks.stopping.tap(() => void made.leave())
    hooks.close.tap(() => (isUsed ? made.stop() : made.closeUnused()))
    hooks.health.tap(findings => [...findings, ...findingsAbout(made)])
    hooks.figures.tap(figures => [...figures, ...figuresOf(made)])
    hooks.load.tap(load => ({ ...load, replica: made.replica.id }))
    hooks.control.for('cluster.replicas').tap(() => replicasOf(made))
  },
}

/** The one of this process, whichever generation asks. */
async function clusterOf({ slot, options, clock, log }: PluginApi<ClusterConfig>): Promise<Cluster> {
  const { Cluster: Made } = await import('./cluster.ts')
  const { RedisStore } = await import('./store/redis-store.ts')
  const kept = slot.gateway((): { cluster?: Cluster } => ({}))
  if (kept.cluster?.hasEnded === false) return kept.cluster
  const store = await RedisStore.make({ url: options.redis, clock, log })
  try {
    return (kept.cluster = new Made(options, store, { clock, log, version: ownPackage().version }))
  } catch (error) {
    store.close()
    throw error
  }
}

/** False where a server keeps state for each session that another replica could not go on with. */
function isAdoptable({ upstreams }: Config): boolean {
  return Object.values(upstreams).every(({ enabled, isolation }) => !enabled || isolation !== 'session')
}
