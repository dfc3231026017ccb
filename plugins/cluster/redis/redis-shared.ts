import { createHash } from 'node:crypto'
import type { CountResult, CountRequest, PutOptions, SharedStore } from '../../../src/plugin.ts'
import { gatewayError, getErrorMessage, readText } from '../../../src/plugin.ts'
import type { KeyRing } from '../key-ring.ts'
import type { RedisStore, ScriptReply } from './redis-store.ts'
import type { Lua } from './scripts.ts'
import { COUNT, DELETE, GET, PUBLISH, PUT, TAKE } from './scripts.ts'

/** Key namespaces. */
type KeyKind = 'value' | 'count' | 'topic'

const HASH_BYTES = 18

interface RedisSharedDeps {
  readonly name: string
  readonly store: RedisStore
  readonly ring: KeyRing
  /** Returns the replica count. */
  readonly sharers: () => number
}

/** Shared store on Redis. Key names are digests. */
export class RedisShared implements SharedStore {
  readonly #options: RedisSharedDeps

  constructor(options: RedisSharedDeps) {
    this.#options = options
  }

  get isUp(): boolean {
    return this.#options.store.isUp
  }

  get processCount(): number {
    return this.#options.sharers()
  }

  async get(key: string): Promise<string | undefined> {
    return readText(await this.#run(GET, 'value', key))
  }

  async put(key: string, value: string, { expiresInMs, when }: PutOptions): Promise<boolean> {
    const [condition, is] = when === undefined ? ['always', ''] : when === 'absent' ? [when, ''] : ['is', when.is]
    return (await this.#run(PUT, 'value', key, value, expiresInMs, condition, is)) === 1
  }

  async take(key: string): Promise<string | undefined> {
    return readText(await this.#run(TAKE, 'value', key))
  }

  async delete(key: string, is?: string): Promise<boolean> {
    return (await this.#run(DELETE, 'value', key, is === undefined ? 'always' : 'is', is ?? '')) === 1
  }

  async addToCounter(key: string, { delta, expiresInMs, max = -1, initial = 0 }: CountRequest): Promise<CountResult> {
    const [added, total] = parseNumbers(await this.#run(COUNT, 'count', key, delta, expiresInMs, max, initial))
    return { added, total }
  }

  async publish(topic: string, text: string): Promise<void> {
    await this.#run(PUBLISH, 'topic', topic, text)
  }

  subscribe(topic: string, onMessage: (text: string) => void, missed?: () => void): () => void {
    return this.#options.store.subscribe(this.#buildKey('topic', topic), onMessage, missed)
  }

  seal(text: string, boundTo: string): string {
    return this.#options.ring.seal('shared', text, boundTo)
  }

  open(sealed: string, boundTo: string): string | undefined {
    return readText(this.#options.ring.open('shared', sealed, boundTo))
  }

  async #run(script: Lua, sort: KeyKind, key: string, ...args: (string | number)[]): Promise<ScriptReply> {
    try {
      return await this.#options.store.run(script, [this.#buildKey(sort, key)], args.map(String))
    } catch (cause) {
      throw gatewayError('GW_SHARED_AWAY', { why: getErrorMessage(cause), cause })
    }
  }

  /** Limit keys are distributed over the cluster, because no script uses two of them. */
  #buildKey(sort: KeyKind, key: string): string {
    const hash = createHash('sha256').update(key).digest().subarray(0, HASH_BYTES).toString('base64url')
    return `tg:${this.#options.name}:${sort}:${hash}`
  }
}

function parseNumbers(reply: ScriptReply): [number, number] {
  const [one, other] = Array.isArray(reply) ? (reply as ScriptReply[]) : []
  return [Number(one ?? 0), Number(other ?? 0)]
}
