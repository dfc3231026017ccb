import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { Cluster, type ClusterConfig } from '../../../../plugins/cluster/cluster.ts'
import { MemoryStore } from './store/memory-store.ts'
import { FORGET, type READ } from '../../../../plugins/cluster/store/scripts.ts'
import type { BesideOthers, Exchange, Session } from '../../../../src/plugin.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'
import { SILENT } from '../install.ts'
import { KEY } from './setting.ts'

const SESSIONS = 2000
/** More would be taken for a store that does not answer. */
const MOST_AT_ONCE = 2

/** Counts commands that forget, and how many of them are under way. */
class CountingStore extends MemoryStore {
  commands = 0
  most = 0
  #now = 0

  override async run(script: typeof READ, keys: readonly string[], args: readonly string[]): Promise<never> {
    const isCounted = script.name === FORGET.name
    if (isCounted) this.most = Math.max(this.most, ++this.#now)
    try {
      await turn()
      return (await super.run(script, keys, args)) as never
    } finally {
      if (isCounted) {
        this.#now--
        this.commands++
      }
    }
  }
}

test('sessions that end at once are forgotten together, and not by a command for each', async () => {
  const store = new CountingStore(new HandClock())
  const options = { name: 'g', keys: [KEY], listen: '127.0.0.1:0' } as unknown as ClusterConfig
  const one = new Cluster(options, store, {
    clock: new HandClock(),
    log: SILENT,
    version: '1',
    directory: '.',
  })
  const ids = Array.from({ length: SESSIONS }, () => one.neighbours.newId())
  one.neighbours.join('main', {
    conversations: { has: () => true, idleMs: 60_000 },
  } as unknown as BesideOthers)
  const sessions = ids.map(
    id => ({ id, listener: 'main', principal: { issuer: 'local', subject: 'x' } }) as unknown as Session,
  )
  for (const session of sessions)
    one.sessions.note({ session, method: 'initialize', answer: { result: {} } } as unknown as Exchange)
  const recorded = async (): Promise<number> => {
    const found = await Promise.all(ids.map(id => one.sessions.read(id)))
    return found.filter(record => record !== undefined).length
  }
  while ((await recorded()) < SESSIONS) await turn()

  for (const session of sessions) one.sessions.ended(session, 'disconnected')
  while ((await recorded()) > 0) await turn()

  assert.ok(store.most <= MOST_AT_ONCE, `${store.most} commands at once`)
  assert.ok(store.commands <= SESSIONS / 100, `${store.commands} commands`)
})
