import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { BoundedMap } from '../bounded-map.ts'
import {
  type Counted,
  type CountRequest,
  type HoldRequest,
  type PermitRequest,
  type Permits,
  type PutOptions,
  type SharedStore,
  sliceMs,
  slicesOf,
} from './shared-store.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals texts that only who has the key can read or make. */
class TextSeal {
  /** As an object: what Node makes of bytes costs more than the cipher. */
  readonly #key: KeyObject
  readonly #digestKey: KeyObject

  constructor(key: Uint8Array) {
    this.#key = keyFor('tapgate shared text', key)
    this.#digestKey = keyFor('tapgate shared digest', key)
  }

  /** Name of a text that says nothing of it, and that nobody else can make. */
  digest(text: string): string {
    return createHmac('sha256', this.#digestKey).update(text).digest('base64url')
  }

  seal(text: string, boundTo: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(boundTo))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** The text; undefined for what was not sealed with this key for the same. */
  open(sealed: string, boundTo: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
    const cipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
    cipher.setAAD(Buffer.from(boundTo)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    try {
      const text = Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), cipher.final()])
      return text.toString('utf8')
    } catch {
      return undefined
    }
  }
}

function keyFor(purpose: string, key: Uint8Array): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)))
}

const MOST = 200_000
const MOST_BYTES = 64 * 1024 * 1024
/** About what an entry takes beside its text. */
const OVERHEAD = 200

/** Permits taken, by slice. */
type Slices = Map<number, number>
/** Numbers held, by who holds them. */
type Holds = Map<object, { readonly count: number; readonly until: number }>

interface Kept<T> {
  readonly value: T
  readonly until: number
}

interface Heard {
  readonly heard: (text: string) => void
}

/** Dependencies of a shared memory. */
interface MemoryOptions {
  /** Milliseconds on a clock that does not jump. */
  readonly now: () => number
  /** Key of what is sealed; a random one where there is none. */
  readonly key?: Uint8Array
  /** Number of processes that share it. */
  readonly sharers?: () => number
}

/** The memory of one process as a store for several: for what runs in it, and for tests. */
export class SharedMemory {
  readonly #options: MemoryOptions
  readonly #seal: TextSeal
  readonly #kept = new BoundedMap<string, Kept<unknown>>({ max: MOST, maxWeight: MOST_BYTES })
  readonly #topics = new Map<string, Set<Heard>>()

  constructor(options: MemoryOptions) {
    this.#options = options
    this.#seal = new TextSeal(options.key ?? randomBytes(32))
  }

  /** The store as one process has it; what it holds is that process's. */
  of(holder: object): SharedStore {
    const { sharers = () => 1 } = this.#options
    return {
      isUp: true,
      get sharers() {
        return sharers()
      },
      get: key => settled(() => this.#read<string>('v', key)),
      look: key => settled(() => ({ value: this.#read<string>('v', key), now: this.#options.now() })),
      put: (key, value, options) => settled(() => this.#put(key, value, options)),
      take: key => settled(() => this.#take(key)),
      delete: (key, is) => settled(() => this.#delete(key, is)),
      permits: (key, request) => settled(() => this.#permits(key, request)),
      count: (key, request) => settled(() => this.#count(key, request)),
      hold: (key, request) => settled(() => this.#hold(key, holder, request)),
      publish: (topic, text) => settled(() => this.#publish(topic, text)),
      subscribe: (topic, heard) => this.#subscribe(topic, heard),
      seal: (text, boundTo) => this.#seal.seal(text, boundTo),
      open: (sealed, boundTo) => this.#seal.open(sealed, boundTo),
      digest: text => this.#seal.digest(text),
    }
  }

  /** A process has ended: what it held is free. */
  gone(holder: object): void {
    for (const [, { value }] of this.#kept.entries()) if (value instanceof Map) value.delete(holder)
  }

  /** Forgets all, as one does that is started anew. */
  clear(): void {
    this.#kept.clear()
  }

  #read<T>(kind: string, key: string): T | undefined {
    const name = kind + key
    const kept = this.#kept.use(name)
    if (kept === undefined || kept.until > this.#options.now()) return kept?.value as T | undefined
    this.#kept.delete(name)
    return undefined
  }

  #write(kind: string, key: string, value: unknown, until: number): void {
    const size = value instanceof Map ? value.size * OVERHEAD : String(value).length * 2
    this.#kept.set(kind + key, { value, until }, undefined, OVERHEAD + key.length * 2 + size)
  }

  #put(key: string, value: string, { ms, when }: PutOptions): boolean {
    const before = this.#read<string>('v', key)
    if (when === 'absent' ? before !== undefined : when !== undefined && before !== when.is) return false
    this.#write('v', key, value, this.#options.now() + ms)
    return true
  }

  #take(key: string): string | undefined {
    const value = this.#read<string>('v', key)
    this.#kept.delete(`v${key}`)
    return value
  }

  #delete(key: string, is: string | undefined): boolean {
    const before = this.#read<string>('v', key)
    if (before === undefined || (is !== undefined && before !== is)) return false
    return this.#kept.delete(`v${key}`)
  }

  #permits(key: string, request: PermitRequest): Permits {
    const { most, ms, wanted, unused = 0, ahead = 0, owed = 0 } = request
    const slice = sliceMs(ms)
    const count = slicesOf(ms)
    const now = this.#options.now()
    const current = Math.floor(now / slice)
    const slices = this.#read<Slices>('p', key) ?? new Map<number, number>()
    forgetBeyond(slices, current, count)
    if (unused > 0) giveBack(slices, unused)
    const before = sumOf(slices) + owed
    const room = Math.max(0, most - before)
    const needed = Math.min(wanted, room)
    const got = needed + Math.min(ahead, Math.floor((room - needed) / 4))
    if (got + owed > 0) slices.set(current, (slices.get(current) ?? 0) + got + owed)
    this.#write('p', key, slices, now + (count + 1) * slice)
    const waitMs = before + got < most ? 0 : (Math.min(...slices.keys()) + count) * slice - now
    return { got, forMs: slice, waitMs: Math.max(0, Math.ceil(waitMs)) }
  }

  #count(key: string, { by, ms, most = Infinity, ahead = 0, from = 0 }: CountRequest): Counted {
    const known = this.#read<number>('n', key)
    const until = known === undefined ? this.#options.now() + ms : (this.#kept.get(`n${key}`)?.until ?? 0)
    const before = known ?? from
    const room = Math.max(0, most - before)
    const needed = Math.min(by, room)
    const got = needed + Math.min(ahead, Math.floor((room - Math.max(0, needed)) / 4))
    const total = Math.max(0, before + got)
    this.#write('n', key, total, until)
    return { got, total }
  }

  #hold(key: string, holder: object, { wanted, most, ms }: HoldRequest): number {
    const now = this.#options.now()
    const holds = this.#read<Holds>('h', key) ?? (new Map() as Holds)
    let others = 0
    for (const [who, { count, until }] of holds)
      if (until <= now) holds.delete(who)
      else if (who !== holder) others += count
    const held = Math.min(wanted, Math.max(holds.get(holder)?.count ?? 0, most - others))
    if (held > 0) holds.set(holder, { count: held, until: now + ms })
    else holds.delete(holder)
    const last = Math.max(now, ...[...holds.values()].map(({ until }) => until))
    this.#write('h', key, holds, last)
    return Math.max(0, held)
  }

  #publish(topic: string, text: string): void {
    for (const one of [...(this.#topics.get(topic) ?? [])]) queueMicrotask(() => one.heard(text))
  }

  #subscribe(topic: string, heard: (text: string) => void): () => void {
    const one = { heard }
    const all = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, all.add(one))
    return () => {
      all.delete(one)
      if (all.size === 0 && this.#topics.get(topic) === all) this.#topics.delete(topic)
    }
  }
}

/** Those of a time to come are there when a clock was set back. */
function forgetBeyond(slices: Slices, current: number, count: number): void {
  for (const at of slices.keys()) if (at <= current - count || at > current + count) slices.delete(at)
}

/** From the oldest slice on: what stays counts for no less long than it must. */
function giveBack(slices: Slices, permits: number): void {
  let left = permits
  for (const at of [...slices.keys()].sort((one, other) => one - other)) {
    const taken = slices.get(at) ?? 0
    const back = Math.min(left, taken)
    left -= back
    if (taken === back) slices.delete(at)
    else slices.set(at, taken - back)
    if (left === 0) return
  }
}

function sumOf(slices: Slices): number {
  let sum = 0
  for (const taken of slices.values()) sum += taken
  return sum
}

/** As one that is elsewhere would answer: later, and failures as rejections. */
function settled<T>(run: () => T): Promise<T> {
  return new Promise(resolve => resolve(run()))
}
