import { usageOf, type Usage } from './usage.ts'
import type { Ask, Cell, Measured } from './messages.ts'

const MAX_SAMPLES = 1_000_000
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Ids have seven digits, so that all requests of a kind are equally long. */
const FIRST_ID = 1_000_000
const LAST_ID = 9_999_999
let lastId = FIRST_ID

/** The body of a request, in two halves with the id between them. */
export function requestText({ era, method, tool }: Ask): readonly [string, string] {
  const call = tool === undefined ? {} : { name: tool, arguments: { path: 'src/index.ts', query: 'hello' } }
  const params = era === 'modern' ? { ...call, _meta: META } : call
  return ['{"jsonrpc":"2.0","id":', `,"method":"${method}","params":${JSON.stringify(params)}}`]
}

/** Requests under way, and how long those took that came back while it counted. */
export class Calls {
  readonly #cell: Cell
  readonly #started = new Map<number, number>()
  readonly #onError: (error: Error) => void
  #took = new Float64Array(1024)
  #count = 0
  #answers = 0
  #isCounting = false
  #isOver = false
  #onDrained: () => void = () => undefined

  constructor(cell: Cell, onError: (error: Error) => void) {
    this.#cell = cell
    this.#onError = onError
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The id of the next request; undefined when time is up. */
  next(): number | undefined {
    if (this.#isOver) return undefined
    const id = lastId === LAST_ID ? (lastId = FIRST_ID) : ++lastId
    this.#started.set(id, performance.now())
    return id
  }

  /** One reply is in. */
  answered(message: Buffer): void {
    const head = message.toString('latin1', 0, 120)
    const at = head.indexOf('"id":')
    const id = Number(head.slice(at + 5, at + 12))
    const started = this.#started.get(id)
    if (started === undefined || !head.includes('"result":'))
      return this.#onError(new Error(`not an answer of ours: ${head}`))
    this.#started.delete(id)
    this.#answers++
    if (this.#isCounting) this.#note(performance.now() - started)
    if (this.#isOver && this.#started.size === 0) this.#onDrained()
  }

  #note(ms: number): void {
    if (this.#count === this.#took.length && this.#count < MAX_SAMPLES) {
      const longer = new Float64Array(this.#took.length * 4)
      longer.set(this.#took)
      this.#took = longer
    }
    this.#took[this.#count++] = ms
  }

  /** Lets requests run, counts for a while, and waits for the last of them. */
  async measure(): Promise<Measured> {
    const { pid, ms } = this.#cell
    await this.#warm()
    const before = pid === undefined ? undefined : usageOf(pid)
    const from = performance.now()
    this.#isCounting = true
    await pause(ms)
    this.#isCounting = false
    const elapsed = performance.now() - from
    const after = pid === undefined ? undefined : usageOf(pid)
    await this.#drain()
    return this.#summary(elapsed, before, after)
  }

  async #warm(): Promise<void> {
    const { warmMs, warmCalls } = this.#cell
    for (let turn = 0; turn < 4; turn++) {
      await pause(warmMs)
      if (this.#answers >= warmCalls) return
    }
  }

  async #drain(): Promise<void> {
    this.#isOver = true
    if (this.#started.size > 0) await new Promise<void>(resolve => (this.#onDrained = resolve))
  }

  #summary(elapsed: number, before: Usage | undefined, after: Usage | undefined): Measured {
    const sorted = this.#took.subarray(0, this.#count).sort()
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
    return {
      calls: this.#count,
      rps: (this.#count * 1000) / elapsed,
      p50: at(0.5),
      p95: at(0.95),
      p99: at(0.99),
      cpu:
        before === undefined || after === undefined
          ? undefined
          : (after.micros - before.micros) / this.#count,
      rss: after?.rss,
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
