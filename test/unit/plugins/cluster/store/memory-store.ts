import { clusterError } from '../../../../../plugins/cluster/errors.ts'
import type { Lua, Reply, Store } from '../../../../../plugins/cluster/store/store.ts'
import type { Clock } from '../../../../../src/plugin.ts'

/** Memory as a script sees it. Times are in milliseconds; what has run out is not there. */
interface Tables {
  readonly now: number
  text(key: string): string | undefined
  setText(key: string, value: string, ms: number): void
  fields(key: string): Map<string, string> | undefined
  setFields(key: string, fields: Readonly<Record<string, string>>): void
  /** Scores by member; never runs out. */
  scores(key: string): Map<string, number>
  expire(key: string, ms: number): void
  delete(key: string): void
}

interface Kept {
  readonly value: string | Map<string, string>
  readonly until: number
}

/** Entries at which those are looked for that have run out. */
const SWEPT_AT = 1000

/** What the scripts of Redis do, by their names. */
const RUNS: Readonly<
  Record<string, (memory: Tables, keys: readonly string[], args: readonly string[]) => Reply>
> = {
  lease(memory, keys, args) {
    const [replica, roster, before, value, ms, id] = seven(keys, args)
    const held = memory.text(replica)
    if (held !== undefined && held !== before && held !== value) return 0
    memory.setText(replica, value, Number(ms))
    const scores = memory.scores(roster)
    scores.set(id, memory.now + Number(ms))
    for (const [member, score] of scores) if (score < memory.now - 60_000) scores.delete(member)
    return held === undefined ? 1 : 2
  },
  leave(memory, [replica = '', roster = '', left], [value, id = '', ms]) {
    memory.scores(roster).delete(id)
    if (left !== undefined) memory.setText(left, '1', Number(ms))
    if (memory.text(replica) !== value) return 0
    memory.delete(replica)
    return 1
  },
  roster: (memory, [roster = '']) =>
    [...memory.scores(roster)].filter(([, until]) => until >= memory.now).map(([member]) => member),
  write(memory, keys, args) {
    const [session, me, epoch, record, ms] = seven(keys, args)
    const known = memory.fields(session)
    const owner = known?.get('owner') ?? me
    if (owner !== me) return [owner, Number(known?.get('epoch'))]
    const now = known?.get('epoch') ?? epoch
    memory.setFields(session, { owner, epoch: now, record })
    memory.expire(session, Number(ms))
    return [me, Number(now)]
  },
  read(memory, [session = '']) {
    const known = memory.fields(session)
    if (known === undefined) return []
    return [textIn(known, 'owner'), Number(known.get('epoch')), textIn(known, 'record')]
  },
  adopt(memory, keys, args) {
    const [session, replica, old, epoch, me, ms, dead] = seven(keys, args)
    const known = memory.fields(session)
    if (known === undefined) return []
    const lease = memory.text(replica)
    const isFree = lease === undefined || lease === dead
    if (known.get('owner') !== old || known.get('epoch') !== epoch || !isFree)
      return [textIn(known, 'owner'), Number(known.get('epoch'))]
    if (args[5] !== 'leaves') memory.delete(replica)
    memory.setFields(session, { owner: me, epoch: String(Number(epoch) + 1) })
    memory.expire(session, Number(ms))
    return [me, Number(epoch) + 1]
  },
  hold: (memory, keys, [me, ms]) =>
    keys.map(key => {
      const owner = memory.fields(key)?.get('owner')
      if (owner === me) memory.expire(key, Number(ms))
      return owner === undefined ? 0 : owner === me ? 1 : 2
    }),
  move: (memory, keys, [old, me = '']) =>
    keys.map(key => {
      const known = memory.fields(key)
      if (known?.get('owner') !== old) return 0
      memory.setFields(key, { owner: me, epoch: String(Number(known?.get('epoch')) + 1) })
      return 1
    }),
  forget(memory: Tables, sessions, [me]): Reply {
    const own = sessions.filter(session => memory.fields(session)?.get('owner') === me)
    for (const session of own) memory.delete(session)
    return own.length
  },
}

function textIn(fields: ReadonlyMap<string, string>, name: string): string {
  return fields.get(name) ?? ''
}

type Seven = [string, string, string, string, string, string, string]

/** Keys and arguments of a script, one after another. */
function seven(keys: readonly string[], args: readonly string[]): Seven {
  const [a = '', b = '', c = '', d = '', e = '', f = '', g = ''] = [...keys, ...args]
  return [a, b, c, d, e, f, g]
}

/** The memory of one process as the store of several replicas in it. Plugins share nothing there. */
export class MemoryStore implements Store {
  /** False to have it fail, as if it were away. */
  isUp = true
  upSince: number | undefined
  readonly #clock: Pick<Clock, 'now'>
  readonly #kept = new Map<string, Kept>()
  readonly #scores = new Map<string, Map<string, number>>()
  #sweepAt = SWEPT_AT

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  connect(): Promise<void> {
    return Promise.resolve()
  }

  get(key: string): Promise<string | undefined> {
    return this.#answer(() => this.#tables().text(key))
  }

  run({ name }: Lua, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return this.#answer(() => {
      const run = RUNS[name]
      if (run === undefined) throw clusterError('GW_CLUSTER_AWAY', { why: 'it is for replicas alone' })
      return run(this.#tables(), keys, args)
    })
  }

  subscribe(): () => void {
    return () => undefined
  }

  /** Forgets all, as one does that is started anew. */
  clear(): void {
    this.#kept.clear()
    this.#scores.clear()
  }

  delete(key: string | undefined): void {
    if (key !== undefined) this.#kept.delete(key)
  }

  close(): void {
    // Others may use it still.
  }

  async #answer<T>(say: () => T): Promise<T> {
    if (!this.isUp) throw clusterError('GW_CLUSTER_AWAY', { why: 'it is switched off' })
    return Promise.resolve(say())
  }

  /** Drops what has run out and is asked for by nobody, whenever there is twice as much as there was. */
  #sweep(now: number): void {
    if (this.#kept.size < this.#sweepAt) return
    for (const [key, { until }] of this.#kept) if (until <= now) this.#kept.delete(key)
    this.#sweepAt = Math.max(SWEPT_AT, 2 * this.#kept.size)
  }

  #tables(): Tables {
    const now = this.#clock.now()
    this.#sweep(now)
    const read = (key: string): Kept['value'] | undefined => {
      const kept = this.#kept.get(key)
      if (kept === undefined || kept.until > now) return kept?.value
      this.#kept.delete(key)
      return undefined
    }
    const fields = (key: string): Map<string, string> | undefined => {
      const value = read(key)
      return value instanceof Map ? value : undefined
    }
    const textOf = (key: string): string | undefined => {
      const value = read(key)
      return typeof value === 'string' ? value : undefined
    }
    return {
      now,
      text: textOf,
      setText: (key, value, ms) => void this.#kept.set(key, { value, until: now + ms }),
      fields,
      setFields: (key, given) => {
        const until = this.#kept.get(key)?.until ?? Infinity
        const value = new Map([...(fields(key) ?? []), ...Object.entries(given)])
        this.#kept.set(key, { value, until })
      },
      scores: key => {
        const known = this.#scores.get(key) ?? new Map<string, number>()
        this.#scores.set(key, known)
        return known
      },
      expire: (key, ms) => {
        const value = read(key)
        if (value !== undefined) this.#kept.set(key, { value, until: now + ms })
      },
      delete: key => void this.#kept.delete(key),
    }
  }
}
