import { type Clock, type Config, objectsIn, type PluginApi, type SharedStore } from '../../../src/plugin.ts'
import type { Event } from '../types.ts'
import { Ledger, type Recorded } from './ledger.ts'
import { answerForCalls } from './records.ts'

const CALLS = 'calls'
const EVENTS = 'events'
/** Pause in which calls are collected, as a message costs more than what is in it. */
const EVERY_MS = 200
const MOST_AT_ONCE = 250
/** Calls that wait for a process that does not take them; more are not recorded. */
const MOST_WAITING = 2000

/** Sends the calls of one worker to the process that keeps those of all. */
export class Shipment {
  readonly #store: SharedStore
  readonly #clock: Clock
  readonly #waiting: Recorded[] = []
  #isGoing = false

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  add(call: Recorded): void {
    if (this.#waiting.length >= MOST_WAITING) return
    this.#waiting.push(call)
    if (this.#isGoing) return
    this.#isGoing = true
    this.#clock.after(EVERY_MS, () => void this.send())
  }

  /** Sends what waits, and waits itself until that has arrived. */
  async send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const text = JSON.stringify(this.#waiting.splice(0, MOST_AT_ONCE))
      // That process has ended, and then this one does.
      await this.#store.publish(CALLS, text).catch(() => undefined)
    }
    this.#isGoing = false
  }
}

/** Tells the pages that are open at any worker. */
export function tellAll(store: SharedStore, event: Event): void {
  store.publish(EVENTS, JSON.stringify(event)).catch(() => undefined)
}

/** Hears what is told to all pages. Returns the end of it. */
export function hearAll(store: SharedStore, heard: (event: Event) => void): () => void {
  return store.subscribe(EVENTS, text => heard(JSON.parse(text) as Event))
}

/** Keeps the calls of all workers in the process that has started them: it outlives each of them. */
export function keepCalls(
  { options, hooks, clock, slot }: PluginApi<NonNullable<Config['ui']>>,
  store: SharedStore,
): void {
  const ledger = slot.gateway(() => {
    const ears = { isHeard: true, tell: (event: Event) => tellAll(store, event) }
    const made = new Ledger(clock, ears, options.calls)
    store.subscribe(CALLS, text => {
      for (const call of objectsIn(JSON.parse(text))) made.add(call as unknown as Recorded)
    })
    return made
  })
  hooks.ready.tap(() => ledger.calls.resize(options.calls))
  answerForCalls(hooks, ledger)
}
