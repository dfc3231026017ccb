import type { Clock } from '../../../src/plugin.ts'
import type { CallDetail } from '../types.ts'
import { CallFeed, type Ears } from './call-feed.ts'
import { CallLog, isFailed } from './call-log.ts'
import { FigureRing } from './figures.ts'

/** A call as it was recorded. */
export type Recorded = Omit<CallDetail, 'id'>

/** Calls of late of the whole gateway, and what is counted of them. */
export class Ledger {
  readonly calls: CallLog
  readonly figures = new FigureRing()
  readonly #feed: CallFeed

  constructor(clock: Clock, ears: Ears, max: number) {
    this.calls = new CallLog(max)
    this.#feed = new CallFeed(clock, ears)
  }

  add(call: Recorded): void {
    const { at, ms, outcome, bytesIn, bytesOut, timing } = call
    const isCached = outcome === 'ok' && timing?.tries === 0
    this.figures.add({ at, ms, isFailed: isFailed(outcome), isCached, bytes: bytesIn + bytesOut })
    this.#feed.add(this.calls.add(call))
  }
}
