import { checkKeyPair, isObject, listAt, mapAt, type Report, textAt, valueAt } from '../../src/plugin.ts'
import { hostAndPort, isEverywhere } from './address.ts'

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
    if (text === undefined || hostAndPort(text) !== undefined) continue
    const message = `"${text}" is no address and port`
    report({ pointer: `/cluster/${key}`, message, hint: 'write host:port, or [::1]:port' })
  }
  const listen = hostAndPort(textAt(cluster, 'listen') ?? '')
  if (listen !== undefined && isEverywhere(listen.host) && valueAt(cluster, 'address') === undefined)
    report({
      pointer: '/cluster/listen',
      message: 'it does not say at which address others reach this replica',
      hint: 'add cluster.address, such as ${env:POD_IP}:7900',
    })
}

const WAYS = ['url', 'sentinels', 'nodes'] as const

/** One way to Redis, and nothing that another way would need. */
function checkRedis(cluster: unknown, report: Report): void {
  const redis = valueAt(cluster, 'redis')
  if (!isObject(redis)) return
  const say: Say = (key, message, hint) =>
    report({ pointer: key === '' ? '/cluster/redis' : `/cluster/redis/${key}`, message, hint, on: 'key' })
  const [way, other] = WAYS.filter(key => redis[key] !== undefined)
  if (way === undefined)
    return say('', 'it does not say where Redis is', 'add one of url, sentinels and nodes')
  if (other !== undefined) return say(other, `there is "${way}" too`, `keep one of the two`)
  for (const key of ['sentinels', 'nodes'] as const)
    for (const [index, address] of listAt(redis, key).entries())
      if (typeof address === 'string' && hostAndPort(address) === undefined)
        say(`${key}/${index}`, `"${address}" is no address and port`, 'write host:port, or [::1]:port')
  checkWay(way, redis, say)
  checkKeyPair(mapAt(redis, 'tls'), '/cluster/redis/tls', finding => report({ ...finding, on: 'key' }))
}

type Say = (key: string, message: string, hint: string) => void

const OF_SENTINELS = ['name', 'sentinelUsername', 'sentinelPassword']

function checkWay(way: (typeof WAYS)[number], redis: Readonly<Record<string, unknown>>, say: Say): void {
  const { tls, name, database } = redis
  if (way !== 'sentinels')
    for (const key of OF_SENTINELS.filter(one => redis[one] !== undefined))
      say(key, `"${key}" is of no use without "sentinels"`, 'take it out')
  else if (name === undefined) say('sentinels', 'nobody says which master is meant', 'add "name"')
  if (way === 'nodes' && database !== undefined)
    say('database', 'a Redis Cluster has one database only', 'take it out')
  if (tls !== undefined && tls !== false && textAt(redis, 'url')?.startsWith('redis:') === true)
    say('tls', 'the URL says that there is no TLS', 'write rediss://')
}
