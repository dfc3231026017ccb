import { setTimeout as pause } from 'node:timers/promises'
import { textOf } from '../peers/payloads.ts'
import { usageOf, type Usage } from './usage.ts'
import type { Ask, Cell, Measured } from './messages.ts'

const MAX_SAMPLES = 1_000_000
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const HEAD_BYTES = 160
const MOST_WARM_TURNS = 10

/** Ids have seven digits, so that all requests of a kind are equally long. */
const FIRST_ID = 1_000_000
const LAST_ID = 9_999_999
const ANY_ID = FIRST_ID
const ID = /"id":(\d{7})/
let lastId = FIRST_ID

/** The body of a request, in parts with the id between them. */
export function requestParts({ era, method, tool, bytes = 0, wantsProgress = false }: Ask): string[] {
  const text = bytes === 0 ? {} : { text: textOf('code', bytes) }
  const call = tool === undefined ? {} : { name: tool, arguments: { path: 'src/index.ts', query: 'hello', ...text } }
  const meta = { ...(era === 'modern' ? META : {}), ...(wantsProgress ? { progressToken: ANY_ID } : {}) }
  const params = Object.keys(meta).length === 0 ? call : { ...call, _meta: meta }
  const request = JSON.stringify({ jsonrpc: '2.0', id: ANY_ID, method, params })
  return request.split(String(ANY_ID))
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
    const id = lastId === LAST_ID ? (lastId = FIRST_ID + 1) : ++lastId
    this.#started.set(id, performance.now())
    return id
  }

  /** One reply is in; notifications pass by. */
  answered(message: Buffer): void {
    const head = message.toString('latin1', 0, HEAD_BYTES)
    if (head.includes('"method":"notifications/')) return
    const id = Number((ID.exec(head) ?? ID.exec(message.toString('latin1', message.length - 40)))?.[1])
    const started = this.#started.get(id)
    if (started === undefined || !head.includes('"result":') || head.includes('"isError":true'))
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
    // A call that takes longer than the window has a figure too: the first answer ends it.
    for (let turn = 0; turn < 40 && this.#count === 0; turn++) await pause(50)
    this.#isCounting = false
    const elapsed = performance.now() - from
    const after = pid === undefined ? undefined : usageOf(pid)
    await this.#drain()
    return this.#summary(elapsed, before, after)
  }

  async #warm(): Promise<void> {
    const { warmMs, warmCalls } = this.#cell
    for (let turn = 0; turn < MOST_WARM_TURNS; turn++) {
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
      cpu: before === undefined || after === undefined ? undefined : (after.micros - before.micros) / this.#count,
      rss: after?.rss,
    }
  }
}
