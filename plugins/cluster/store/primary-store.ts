import type { Clock, JsonObject, SharedState } from '../../../src/plugin.ts'
import { clusterError } from '../errors.ts'
import { Circuit } from './circuit.ts'
import { MemoryStore } from './memory-store.ts'
import * as scripts from './scripts.ts'
import { LEASE } from './scripts.ts'
import type { Reply, Script, Store } from './store.ts'

const BY_NAME = new Map<unknown, Script>(Object.values(scripts).map(script => [script.name, script]))

/** Time that a process which is busy, such as with a reload, may take. */
const ANSWER_MS = 1000

/** The store of replicas that are processes of one machine: the memory of the one that started them. */
export class PrimaryStore implements Store {
  readonly upSince = undefined
  readonly #primary: Extract<SharedState, { role: 'asks' }>
  readonly #clock: Clock
  readonly #circuit: Circuit

  constructor(primary: Extract<SharedState, { role: 'asks' }>, clock: Clock) {
    this.#primary = primary
    this.#clock = clock
    this.#circuit = new Circuit(clock)
  }

  get isUp(): boolean {
    return !this.#circuit.isOpen
  }

  connect(): Promise<void> {
    return Promise.resolve()
  }

  async get(key: string): Promise<string | undefined> {
    const { reply } = await this.#ask({ get: key })
    return typeof reply === 'string' ? reply : undefined
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return (await this.#ask({ script: script.name, keys, args })).reply as Reply
  }

  close(): void {
    // The primary keeps it as long as there are processes.
  }

  async #ask(question: JsonObject): Promise<JsonObject> {
    if (!this.#circuit.enter()) throw clusterError('GW_CLUSTER_AWAY', { why: 'the primary is too slow' })
    let forget = (): void => undefined
    const late = new Promise<never>((_, reject) => {
      forget = this.#clock.after(ANSWER_MS, () => reject(new Error(`no answer in ${ANSWER_MS} ms`)))
    })
    try {
      const answer = await Promise.race([this.#primary.ask(question), late])
      this.#circuit.answered()
      return answer
    } catch (cause) {
      this.#circuit.failed()
      throw clusterError('GW_CLUSTER_AWAY', { why: cause instanceof Error ? cause.message : '', cause })
    } finally {
      forget()
    }
  }
}

/** Memory that the process which started them has of its replicas; a reload changes nothing in it. */
export class KeptStore {
  readonly memory: MemoryStore
  /** The lease of each process: one that has ended has none, whatever time was left. */
  readonly leases = new WeakMap<object, string>()

  constructor(clock: Clock) {
    this.memory = new MemoryStore(clock)
  }
}

/** Answers, in the process that started them, what its replicas ask. */
export function keepStore(
  primary: Extract<SharedState, { role: 'keeps' }>,
  { memory, leases }: KeptStore,
): void {
  primary.serve({
    async answer({ get, script, keys, args }, from) {
      if (typeof get === 'string') return { reply: await memory.get(get) }
      const found = BY_NAME.get(script)
      if (found === undefined) return {}
      const names = keys as readonly string[]
      if (found === LEASE) leases.set(from, names[0] ?? '')
      return { reply: await memory.run(found, names, args as readonly string[]) }
    },
    gone: from => memory.delete(leases.get(from)),
  })
}
