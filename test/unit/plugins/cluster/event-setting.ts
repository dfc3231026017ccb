import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { KeptEvents } from '../../../../plugins/cluster/events/kept-events.ts'
import { KeyRing } from '../../../../plugins/cluster/key-ring.ts'
import type { RedisConfig } from '../../../../plugins/cluster/store/connections/connection.ts'
import { RedisStore } from '../../../../plugins/cluster/store/redis-store.ts'
import { EventStore, type KeptStream } from '../../../../src/listeners/http/mcp/event-store.ts'
import type { SseStream } from '../../../../src/listeners/http/sse-writer.ts'
import { HeldBytes } from '../../../../src/transport/backlog.ts'
import { systemClock } from '../../../../src/util/clock.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { type Redis, redisFor } from '../../../fixtures/redis.ts'
import { SILENT } from '../install.ts'
import { KEY, until } from './setting.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

export const KIB = 1024
export const MIB = KIB * KIB
export const SESSION = 'r0_session'
export const LISTENS = { isStandalone: true }

/** The part of a stream that its sender uses. */
type Sending = Pick<SseStream, 'isOpen' | 'prime' | 'tell' | 'send' | 'replay' | 'end' | 'cut'>

/** A reader of a stream that notes what it is sent. */
export class Reader implements Sending {
  isOpen = true
  readonly ids: string[] = []
  readonly messages: string[] = []

  get stream(): SseStream {
    return this as unknown as SseStream
  }

  prime(id: string): void {
    this.ids.push(id)
  }

  tell(message: string, id: string): boolean {
    return this.send(message, id)
  }

  send(message: Buffer | string, id: string): boolean {
    if (!this.isOpen) return false
    this.ids.push(id)
    this.messages.push(String(message))
    return true
  }

  replay(events: readonly { id: string; message: Buffer | string }[]): void {
    for (const { id, message } of events) this.send(message, id)
  }

  end(message?: Buffer | string, id = ''): void {
    if (message !== undefined) this.send(message, id)
    this.isOpen = false
  }

  cut(): void {
    this.isOpen = false
  }

  get lastId(): string {
    return this.ids.at(-1) ?? ''
  }
}

export interface Replica {
  readonly kept: KeptEvents
  readonly ring: KeyRing
  readonly clock: HandClock
  epoch: number
  /** Begins a session there, or goes on with one of another replica. */
  session(id?: string): EventStore
  goesOn(id?: string): Promise<{ store: EventStore; standalone: KeptStream | undefined }>
}

export async function storeAt(t: TestContext, redis: RedisConfig): Promise<RedisStore> {
  const store = await RedisStore.make({ redis, directory: '.', clock: systemClock, log: SILENT })
  cleanup(t, () => store.close())
  await store.connect()
  return store
}

export function replicaOf(store: RedisStore, epoch: number, keys = [KEY]): Replica {
  const held = new HeldBytes({ total: 64 * MIB, each: 8 * MIB })
  const ring = new KeyRing('g', keys)
  const clock = new HandClock(1_000_000)
  const replica = { epoch }
  const kept = new KeptEvents({ name: 'g', store, ring, clock, epochOf: () => replica.epoch })
  const session = (id = SESSION): EventStore =>
    new EventStore(held, 'caller', source => kept.copyOf(id, source))
  return Object.assign(replica, {
    ...{ kept, ring, clock, session },
    async goesOn(id = SESSION) {
      const records = await kept.take(id, replica.epoch)
      const restored = session(id)
      return { store: restored, standalone: restored.restore(records) }
    },
  })
}

export async function pair(t: TestContext): Promise<{ redis: Redis; one: Replica; other: Replica }> {
  const redis = await redisFor(t)
  const [one, other] = [replicaOf(await storeAt(t, redis.url), 1), replicaOf(await storeAt(t, redis.url), 2)]
  return { redis, one, other }
}

export const said = (text: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/x","params":{"said":"${text}"}}`
export const saidIn = ({ messages }: Reader): unknown[] =>
  messages.map(text => {
    const message = JSON.parse(text) as { params?: { said?: string } }
    return message.params?.said ?? message
  })

/** Begins a session there that says these texts on its stream of its own, and has them written. */
export async function saidBy(
  replica: Replica,
  ...texts: string[]
): Promise<{ reader: Reader; stream: KeptStream }> {
  const reader = new Reader()
  const stream = replica.session().begin(reader.stream, LISTENS)
  stream.prime()
  for (const text of texts) stream.notify(said(text))
  await written(replica)
  return { reader, stream }
}

export function resume(store: EventStore, lastId: string): Reader {
  const reader = new Reader()
  const place = store.find(lastId)
  assert.ok(place, `${lastId} is known`)
  place.stream.resume(reader.stream, place.after)
  return reader
}

export async function written({ kept }: Replica): Promise<void> {
  await until(() => {
    kept.tend()
    return kept.waiting === 0
  })
}
