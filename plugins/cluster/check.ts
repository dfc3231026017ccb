import { checkKeyPair, isObject, mapAt, type Report, textAt, valueAt } from '../../src/plugin.ts'
import { isWildcard, parseAddress } from './address.ts'

/** An address that others can reach, one name for each key, and listeners that replicas can share. */
export function check(config: unknown, report: Report): void {
  if (valueAt(config, 'cluster') === undefined) return
  const cluster = mapAt(config, 'cluster')
  checkAddresses(cluster, report)
  checkRedis(cluster, report)
  const keys = valueAt(cluster, 'keys')
  const ids = Array.isArray(keys) ? keys.map(key => textAt(key, 'id')) : []
  for (const [index, id] of ids.entries())
    if (ids.indexOf(id) !== index)
      report({ pointer: `/cluster/keys/${index}/id`, message: `the id "${String(id)}" stands twice` })
}

function checkAddresses(cluster: unknown, report: Report): void {
  for (const key of ['listen', 'address'] as const) {
    const text = textAt(cluster, key)
    if (text === undefined || parseAddress(text) !== undefined) continue
    const message = `"${text}" is no address and port`
    report({ pointer: `/cluster/${key}`, message, hint: 'write host:port, or [::1]:port' })
  }
  const listen = parseAddress(textAt(cluster, 'listen') ?? '')
  if (listen !== undefined && isWildcard(listen.host) && valueAt(cluster, 'address') === undefined)
    report({
      pointer: '/cluster/listen',
      message: 'it does not say at which address others reach this replica',
      hint: 'add cluster.address, such as ${env:POD_IP}:7900',
    })
}

function checkRedis(cluster: unknown, report: Report): void {
  const redis = valueAt(cluster, 'redis')
  if (!isObject(redis)) return
  const { tls } = redis
  if (tls !== undefined && tls !== false && textAt(redis, 'url')?.startsWith('redis:') === true) {
    const message = 'the URL says that there is no TLS'
    report({ pointer: '/cluster/redis/tls', message, hint: 'write rediss://', on: 'key' })
  }
  checkKeyPair(mapAt(redis, 'tls'), '/cluster/redis/tls', finding => report({ ...finding, on: 'key' }))
}
