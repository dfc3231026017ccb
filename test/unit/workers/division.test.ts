import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseConfig, type LoadedConfig } from '../../../src/config/index.ts'
import type { JsonObject } from '../../../src/plugin.ts'
import { checkWorkers, forOwner, forWorker } from '../../../src/workers/partition.ts'

const HTTP = { type: 'http', url: 'http://127.0.0.1:1/mcp' }

function loaded(more: JsonObject): LoadedConfig {
  const config = { version: 1, listeners: { main: { type: 'http', port: 0 } }, upstreams: {}, ...more }
  return parseConfig(config, { directory: '.' })
}

test('what would not be right with several workers is refused, with all that is wrong', () => {
  const wrong: readonly (readonly [JsonObject, RegExp])[] = [
    [
      { listeners: { main: { type: 'http', limits: { connections: 1 } } } },
      /main\.limits\.connections is less/,
    ],
    [{ audit: { file: 'a.jsonl' } }, /put \{pid\} in its name/],
    [{ audit: { chain: true } }, /audit\.chain needs/],
    [{ listeners: { main: { type: 'http', limits: { sessionsPerPrincipal: 1 } } } }, /sessionsPerPrincipal/],
  ]
  for (const [config, why] of wrong)
    assert.throws(() => checkWorkers(loaded(config).config, 2), { code: 'GW_WORKERS', message: why })
  const fine = { audit: { file: 'a.{pid}.jsonl' }, metrics: {} }
  checkWorkers(loaded(fine).config, 2)
})

test('processes, servers that keep callers apart, and servers with few calls at a time have one owner', () => {
  const source = loaded({
    upstreams: {
      process: { type: 'stdio', command: 'node' },
      apart: { ...HTTP, isolation: 'principal' },
      headers: { ...HTTP, forwardHeaders: ['x-tenant'] },
      few: { ...HTTP, limits: { concurrency: 1 } },
      shared: { ...HTTP, limits: { concurrency: 9, queue: 5 } },
      unbounded: { ...HTTP, limits: { concurrency: 0 } },
    },
  })

  const { owned, loaded: share } = forWorker(source, 2)
  const owner = forOwner(source, 2).config

  assert.deepEqual(owned, ['process', 'apart', 'headers', 'few'])
  assert.deepEqual(Object.keys(owner.upstreams), owned)
  assert.deepEqual(owner.listeners, {})
  assert.equal(owner.upstreams['few']?.limits.concurrency, 1)
  const limitsOf = (name: string): object => share.config.upstreams[name]?.limits ?? {}
  assert.deepEqual(limitsOf('shared'), { concurrency: 4, queue: 2, queueTimeout: 0 })
  assert.deepEqual(limitsOf('unbounded'), { concurrency: 0, queue: 512, queueTimeout: 0 })
  assert.equal(share.config.upstreams['few']?.breaker, false, 'its owner gives it a rest')
})

test('what is bounded for a whole gateway is shared out, so that no more comes of it', () => {
  const source = loaded({
    listeners: { main: { type: 'http', limits: { sessions: 101, sessionsPerPrincipal: 7, connections: 3 } } },
    cache: { maxEntries: 1001, maxBytes: '1KiB' },
  })

  const { config } = forWorker(source, 2).loaded

  const { main } = config.listeners
  const { sessions, sessionsPerPrincipal, connections } = main?.type === 'http' ? main.limits : {}
  assert.deepEqual([sessions, sessionsPerPrincipal, connections], [50, 3, 1])
  assert.deepEqual(config.cache && [config.cache.maxEntries, config.cache.maxBytes], [500, 512])
  assert.equal(config.state, false, 'the owner alone keeps what outlives it')
})

test('a client on a pipe, and programs at a socket, are the first worker’s', () => {
  const source = loaded({
    listeners: {
      main: { type: 'http' },
      pipe: { type: 'stdio' },
      programs: { type: 'socket', path: './programs.sock' },
    },
  })
  const namesOf = (number: number, hasPipe: boolean): string[] =>
    Object.keys(forWorker(source, 2, { number, hasPipe, sections: {} }).loaded.config.listeners)

  assert.deepEqual(namesOf(1, true), ['main', 'pipe', 'programs'])
  assert.deepEqual(
    namesOf(1, false),
    ['main', 'programs'],
    'its first process has died, and the client with it',
  )
  assert.deepEqual(namesOf(2, false), ['main'])
})

test('each worker of a cluster takes what is handed on at a port of its own', () => {
  const key = { id: 'a', key: Buffer.alloc(32, 1).toString('base64') }
  const of = (more: JsonObject): LoadedConfig =>
    loaded({ cluster: { redis: 'redis://r', keys: [key], ...more } })
  const third = (more: JsonObject): unknown => {
    const one = { number: 3, hasPipe: false, sections: { cluster: 'of the machine' } }
    const { listen, address } = forWorker(of(more), 4, one).loaded.config.cluster ?? {}
    return [listen, address]
  }

  assert.deepEqual(third({}), ['127.0.0.1:0', undefined])
  const named = { listen: '0.0.0.0:7900', address: '[::1]:7900' }
  assert.deepEqual(third(named), ['0.0.0.0:7902', '[::1]:7902'])
  assert.throws(() => checkWorkers(of({ listen: '127.0.0.1:65534' }).config, 4), { code: 'GW_WORKERS' })
})

test('workers count days where the gateway keeps its state, and where a limit names a place of its own there', () => {
  const rules = { daily: { perDay: 3 } }
  const placeOf = (rateLimit: JsonObject, state: string | undefined): string | undefined => {
    const worker = { number: 1, hasPipe: false, sections: {}, state }
    return forWorker(loaded({ rateLimit }), 2, worker).loaded.config.rateLimit?.state
  }

  assert.equal(placeOf({ rules }, '/kept'), '/kept')
  assert.equal(placeOf({ rules, state: 'days' }, '/kept'), 'days')
  assert.equal(placeOf({ rules }, undefined), undefined)
})
