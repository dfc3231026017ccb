import type { Clock, Log, Neighbours } from '../api/index.ts'
import type { PipelineGate } from '../core/gate.ts'
import type { WorkElsewhere } from '../listeners/elsewhere/work-elsewhere.ts'
import type { WorkForOthers } from '../listeners/elsewhere/work-for-others.ts'

/** The way of requests between processes of one gateway: to what others keep, and from them to what is kept here. */
export class WorkBeside {
  readonly #gate: PipelineGate
  readonly #around: { readonly clock: Clock; readonly log: Log }
  #neighbours: Neighbours | undefined
  #others: WorkElsewhere | undefined
  #own: WorkForOthers | undefined

  constructor(gate: PipelineGate, around: { readonly clock: Clock; readonly log: Log }) {
    this.#gate = gate
    this.#around = around
  }

  /** Joins the other processes, where there are any that it has not joined. Nothing is loaded without. */
  async become(neighbours: Neighbours | undefined): Promise<void> {
    if (neighbours === this.#neighbours) return
    this.#neighbours = neighbours
    this.#gate.elsewhere = undefined
    if (neighbours?.joinWork === undefined) return
    const [{ WorkElsewhere: Others }, { WorkForOthers: Own }] = await Promise.all([
      import('../listeners/elsewhere/work-elsewhere.ts'),
      import('../listeners/elsewhere/work-for-others.ts'),
    ])
    const { clock, log } = this.#around
    const find = neighbours.joinWork((work, response) => own.serve(work, response))
    const own = new Own({ gate: this.#gate, clock, log }, find)
    this.#own = own
    this.#others = new Others(find, clock)
    this.#gate.elsewhere = this.#others
  }

  /** Lets requests of others end within the time, and those of this process at others, which end as its listeners stop. */
  async end(graceMs: number, stopped: Promise<void>): Promise<void> {
    await Promise.all([this.#own?.stop(graceMs), stopped])
    this.#others?.stop()
  }
}
