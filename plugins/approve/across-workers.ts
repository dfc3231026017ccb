import {
  type JsonObject,
  type PluginApi,
  type SharedState,
  type SharedStateAnswers,
} from '../../src/plugin.ts'
import type { Decision, WaitingCalls } from './waiting-calls.ts'

type Asks = Extract<SharedState, { role: 'asks' }>

/** Calls that wait in all workers: each of them has its own bound, so this one is never reached. */
const MAX_WAITING = 10_000

/** A call that waits in one of the workers. */
interface Place {
  readonly from: object
  /** Tells the worker of a decision, or that there is none to come. */
  readonly say: (said: JsonObject) => void
  /** Hears whether that worker took the decision. */
  took: ((isTaken: boolean) => void) | undefined
}

/** The places of all calls that wait, in the process that starts the workers. */
export type Places = Map<string, Place>

/** Finds the worker that a call waits in: it stays on the line until somebody decides, and says whether it was in time. */
export function answersFor(places: Places): SharedStateAnswers {
  const leave = (id: string): void => {
    const place = places.get(id)
    places.delete(id)
    place?.say({})
    place?.took?.(false)
  }
  const wait = (id: string, from: object): Promise<JsonObject> | JsonObject => {
    if (places.size >= MAX_WAITING || places.has(id)) return {}
    return new Promise(say => places.set(id, { from, say, took: undefined }))
  }
  const decide = (id: string, decision: JsonObject): Promise<JsonObject> | JsonObject => {
    const place = places.get(id)
    // The first decision counts.
    if (place === undefined || place.took !== undefined) return { decided: false }
    return new Promise(answer => {
      place.took = decided => answer({ decided })
      place.say({ decision })
    })
  }
  return {
    answer: ({ kind, id, decision, decided }, from) => {
      const own = String(id)
      if (kind === 'wait') return wait(own, from)
      if (kind === 'decide') return decide(own, decision as JsonObject)
      if (kind === 'took') places.get(own)?.took?.(decided === true)
      leave(own)
      return {}
    },
    gone: from => {
      for (const [id, place] of places) if (place.from === from) leave(id)
    },
  }
}

/** A worker's way to calls that wait in others. */
export class OtherWorkers {
  readonly #state: Asks
  readonly #log: PluginApi['log']

  constructor(state: Asks, log: PluginApi['log']) {
    this.#state = state
    this.#log = log
  }

  /** Hears what others are told about a call that waits here, until it waits no longer. */
  listen(id: string, waiting: WaitingCalls): void {
    void this.#ask({ kind: 'wait', id }).then(({ decision }) => {
      if (decision === undefined) return
      const decided = waiting.decide(id, decision as Decision)
      return this.#ask({ kind: 'took', id, decided })
    })
  }

  /** The call waits no longer. */
  leave(id: string): void {
    void this.#ask({ kind: 'leave', id })
  }

  /** Passes a decision on to the worker whose call it is; false where none waits for it. */
  async decide(id: string, decision: Decision): Promise<boolean> {
    return (await this.#ask({ kind: 'decide', id, decision })).decided === true
  }

  async #ask(question: JsonObject): Promise<JsonObject> {
    try {
      return await this.#state.ask(question)
    } catch (error) {
      this.#log.warn('the other workers cannot be told of a call that waits', { error: String(error) })
      return {}
    }
  }
}
