import type {
  Answer,
  Counted,
  CountRequest,
  HoldRequest,
  JsonObject,
  Looked,
  PermitRequest,
  Permits,
  PutOptions,
  SharedStore,
} from '../../api/index.ts'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import { Payload } from '../../protocol/payload.ts'
import { TextSeal } from '../../util/storage/text-seal.ts'
import type { Line } from '../ipc/rpc.ts'

const SILENT = { emit: () => undefined, onCancel: () => () => undefined }

type Verb = 'get' | 'look' | 'put' | 'take' | 'delete' | 'permits' | 'count' | 'hold' | 'publish'

const VERBS: ReadonlySet<string> = new Set<Verb>([
  'get',
  'look',
  'put',
  'take',
  'delete',
  'permits',
  'count',
  'hold',
  'publish',
])

/** Topics that the process at the other end of a line has subscribed to. */
export class Subscriptions {
  readonly #tell: (note: JsonObject) => void
  readonly #ends = new Map<string, () => void>()

  constructor(tell: (note: JsonObject) => void) {
    this.#tell = tell
  }

  add(store: SharedStore, topic: string): void {
    if (this.#ends.has(topic)) return
    this.#ends.set(
      topic,
      store.subscribe(topic, text => this.#tell({ topic, text })),
    )
  }

  delete(topic: string): void {
    this.#ends.get(topic)?.()
    this.#ends.delete(topic)
  }

  end(): void {
    for (const topic of [...this.#ends.keys()]) this.delete(topic)
  }
}

/** Answers what a worker asks of the memory that all share. */
export async function answerShared(
  store: SharedStore,
  { shared, args }: JsonObject,
  subscriptions: Subscriptions,
): Promise<Answer> {
  const verb = String(shared)
  const given: readonly unknown[] = Array.isArray(args) ? args : []
  if (verb === 'subscribe') subscriptions.add(store, String(given[0]))
  else if (verb === 'unsubscribe') subscriptions.delete(String(given[0]))
  else if (VERBS.has(verb)) {
    const run = store[verb as Verb] as (...given: readonly unknown[]) => Promise<unknown>
    return { result: Payload.of({ value: await run(...given) }) }
  }
  return { result: Payload.of({}) }
}

/** The memory of the primary as a worker has it. */
export class SharedOverLine implements SharedStore {
  readonly spans = 'host'
  readonly sharers: number
  readonly #line: Line
  readonly #seal: TextSeal
  readonly #heard = new Map<string, Set<{ readonly heard: (text: string) => void }>>()

  constructor(line: Line, key: Uint8Array, workers: number) {
    this.#line = line
    this.#seal = new TextSeal(key)
    this.sharers = workers
  }

  get isUp(): boolean {
    return this.#line.isOpen
  }

  get(key: string): Promise<string | undefined> {
    return this.#ask('get', key)
  }

  look(key: string): Promise<Looked> {
    return this.#ask('look', key)
  }

  put(key: string, value: string, options: PutOptions): Promise<boolean> {
    return this.#ask('put', key, value, options)
  }

  take(key: string): Promise<string | undefined> {
    return this.#ask('take', key)
  }

  delete(key: string, is?: string): Promise<boolean> {
    return is === undefined ? this.#ask('delete', key) : this.#ask('delete', key, is)
  }

  permits(key: string, request: PermitRequest): Promise<Permits> {
    return this.#ask('permits', key, request)
  }

  count(key: string, request: CountRequest): Promise<Counted> {
    return this.#ask('count', key, request)
  }

  hold(key: string, request: HoldRequest): Promise<number> {
    return this.#ask('hold', key, request)
  }

  publish(topic: string, text: string): Promise<void> {
    return this.#ask('publish', topic, text)
  }

  subscribe(topic: string, heard: (text: string) => void): () => void {
    const one = { heard }
    const known = this.#heard.get(topic)
    if (known === undefined) this.#tell('subscribe', topic)
    const all = known ?? new Set()
    this.#heard.set(topic, all.add(one))
    return () => {
      if (!all.delete(one) || all.size > 0) return
      this.#heard.delete(topic)
      this.#tell('unsubscribe', topic)
    }
  }

  seal(text: string, boundTo: string): string {
    return this.#seal.seal(text, boundTo)
  }

  open(sealed: string, boundTo: string): string | undefined {
    return this.#seal.open(sealed, boundTo)
  }

  digest(text: string): string {
    return this.#seal.digest(text)
  }

  /** The primary passes on what somebody published. */
  hear(topic: string, text: string): void {
    for (const one of [...(this.#heard.get(topic) ?? [])]) one.heard(text)
  }

  /** Nobody can miss anything for as long as the line is open, and without it the worker ends. */
  #tell(verb: 'subscribe' | 'unsubscribe', topic: string): void {
    void this.#ask(verb, topic).catch(() => undefined)
  }

  async #ask<T>(verb: string, ...args: unknown[]): Promise<T> {
    try {
      const answer = await this.#line.request({ shared: verb, args }, SILENT)
      return ('result' in answer ? answer.result.value().value : undefined) as T
    } catch (cause) {
      throw gatewayError('GW_SHARED_AWAY', { why: reasonOf(cause), cause })
    }
  }
}
