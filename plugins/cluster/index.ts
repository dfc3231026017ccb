import type { Config, Plugin, PluginApi, Report } from '../../src/plugin.ts'
import { checkKeyPair, isObject, readMap, readOwnPackage, readText, readValue } from '../../src/plugin.ts'
import { isWildcard, parseAddress } from './host-port.ts'
import type { Cluster } from './cluster.ts'
import { ERRORS, HEALTH } from './errors.ts'
import type { ChangeFeed } from './change-feed.ts'

type ClusterConfig = NonNullable<Config['cluster']>

/** Runs several gateway processes as one, using Redis. */
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
    const { describeReplicas, listFigures, listFindings } = await import('./status.ts')
    const made = await openCluster(api)
    let isUsed = false

    hooks.services.tap(services => ({ ...services, peers: made, store: made.shared }))
    hooks.ready.tap(() => {
      made.configure(options, config, directory)
      isUsed = true
      return made.start()
    })
    hooks.close.tap(() => made.stop(isUsed))
    exchangeChanges(api, made.changeFeed)
    hooks.health.tap(findings => [...findings, ...listFindings(made)])
    hooks.metrics.tap(figures => [...figures, ...listFigures(made)])
    hooks.control.for('cluster.replicas').tap({ readOnly: true }, () => describeReplicas(made))
  },
}

/** Exchanges list and resource changes with other replicas. */
function exchangeChanges({ hooks, config, emitNotification }: PluginApi<ClusterConfig>, news: ChangeFeed): void {
  const isForAll = (name: string): boolean => config.upstreams[name]?.isolation === 'shared'
  hooks.notification.tap({ stage: 'trace', methods: news.methods }, (said, { direction, upstream, exchange }) => {
    if (direction === 'client' && upstream !== undefined && exchange === undefined && isForAll(upstream))
      news.publish(upstream, said)
  })
  hooks.ready.tap(() => {
    const names = Object.keys(config.upstreams).filter(isForAll)
    news.setHandler({ names, notify: emitNotification })
  })
}

/** Returns the cluster object, which all generations share. */
async function openCluster(api: PluginApi<ClusterConfig>): Promise<Cluster> {
  const { slot, options, clock, log, directory } = api
  const { Cluster: Made } = await import('./cluster.ts')
  const shared = slot.gateway((): { cluster?: Cluster } => ({}))
  if (shared.cluster?.hasEnded === false) return shared.cluster
  const { RedisStore } = await import('./redis/redis-store.ts')
  const store = await RedisStore.create({ redis: options.redis, directory, clock, log })
  const { version } = readOwnPackage()
  try {
    return (shared.cluster = new Made(options, store, { clock, log, version, directory }))
  } catch (error) {
    store.close()
    throw error
  }
}

/** Checks the address, key names, and listeners. */
function check(config: unknown, report: Report): void {
  if (readValue(config, 'cluster') === undefined) return
  const cluster = readMap(config, 'cluster')
  checkAddresses(cluster, report)
  checkRedis(cluster, report)
  const keys = readValue(cluster, 'keys')
  const ids = Array.isArray(keys) ? keys.map(key => readText(key, 'id')) : []
  for (const [index, id] of ids.entries())
    if (ids.indexOf(id) !== index)
      report({ pointer: `/cluster/keys/${index}/id`, message: `duplicate id "${String(id)}"` })
}

function checkAddresses(cluster: unknown, report: Report): void {
  for (const key of ['listen', 'address'] as const) {
    const text = readText(cluster, key)
    if (text === undefined || parseAddress(text) !== undefined) continue
    const message = `"${text}" is not an address and port`
    report({ pointer: `/cluster/${key}`, message, hint: 'write host:port, or [::1]:port' })
  }
  const listen = parseAddress(readText(cluster, 'listen') ?? '')
  if (listen !== undefined && isWildcard(listen.host) && readValue(cluster, 'address') === undefined)
    report({
      pointer: '/cluster/listen',
      message: 'the address for other replicas is missing',
      hint: 'add cluster.address, such as ${env:POD_IP}:7900',
    })
}

function checkRedis(cluster: unknown, report: Report): void {
  const redis = readValue(cluster, 'redis')
  if (!isObject(redis)) return
  const { tls } = redis
  if (tls !== undefined && tls !== false && readText(redis, 'url')?.startsWith('redis:') === true) {
    const message = 'the URL scheme disables TLS'
    report({ pointer: '/cluster/redis/tls', message, hint: 'use rediss://', on: 'key' })
  }
  checkKeyPair(readMap(redis, 'tls'), '/cluster/redis/tls', finding => report({ ...finding, on: 'key' }))
}
