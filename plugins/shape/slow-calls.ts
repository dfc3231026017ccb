import type { Answer, Call, Clock, Handles, JsonObject, Log, RunningCall } from '../../src/plugin.ts'
import { BoundedMap, isObject, Payload, createUpstreamAnswer } from '../../src/plugin.ts'
import { failed } from './read-result.ts'
import { META } from './shape-result.ts'

/** Calls that go on, of all callers and of one; the core has bounds of its own below. */
const MAX_RUNNING = 2000
const MAX_OF_OWNER = 100
/** Time for which a call and its answer are kept. */
const KEEP_MS = 3_600_000
/** Longest wait of one look; the deadline of the look itself is longer. */
const MAX_WAIT_MS = 45_000
/** Part of a patience that one look may wait: the rest is for the way. */
const OF_PATIENCE = 0.9

const UNKNOWN =
  'no call of yours goes on under this handle: it is too long ago, newer ones have taken its place, or the gateway was restarted'

interface SlowCall {
  readonly owner: string
  readonly running: RunningCall
  readonly tool: string
  readonly waitMs: number
}

interface SlowParts {
  readonly clock: Clock
  readonly handles: Handles
  readonly log: Log
}

/** Calls that went on after their clients were answered, for those that know no tasks. They outlive a generation. */
export class SlowCalls {
  readonly #held = new BoundedMap<string, SlowCall>({ max: MAX_RUNNING, share: MAX_OF_OWNER })
  readonly #said = new WeakSet<Payload>()
  readonly #waits = new Set<() => void>()
  #count = 0

  /** Calls that took longer than their clients wait, so far. */
  get count(): number {
    return this.#count
  }

  /** Tells whether an answer is ours, about a call that goes on: there is nothing in it to be brought into form. */
  hasSaid(result: Payload): boolean {
    return this.#said.has(result)
  }

  /** Patience of the client of a call, and the answer when it is over. */
  patienceOf(
    call: Call,
    owner: string,
    ms: number,
    { handles, log }: SlowParts,
  ): { ms: number; retainMs: number; createAnswer(running: RunningCall): Answer } {
    const tool = String(call.exchange.params?.name)
    const createAnswer = (running: RunningCall): Answer => {
      const key = `slow-${++this.#count}`
      const waitMs = Math.min(Math.max(1, Math.floor(ms * OF_PATIENCE)), MAX_WAIT_MS)
      this.#held.set(key, { owner, running, tool, waitMs }, owner)
      log.info('a call takes longer than its client waits, and goes on', { tool, ms })
      return this.#goesOn(handles.seal(key, owner, KEEP_MS), tool)
    }
    return { ms, retainMs: KEEP_MS, createAnswer }
  }

  /** `result`: waits for a call, asks what it needs, and gives its answer; or ends it. */
  async result(call: Call, given: JsonObject, owner: string, { handles, clock }: SlowParts): Promise<Answer> {
    const handle = String(given.handle)
    const key = handles.open(handle, owner)
    const held = key === undefined ? undefined : this.#held.get(key)
    if (held?.owner !== owner) return failed(UNKNOWN)
    const { running, tool } = held
    if (given.cancel === true) running.cancel('the caller ended it')
    const { client } = call.exchange.session
    if (isObject(call.params?.inputResponses)) running.submitResponses(call.params.inputResponses, client)
    await this.#change(running, call, waitOf(given, held), clock)
    if (running.answer !== undefined) return running.answer
    const inputRequests = running.getInputRequests(client)
    if (inputRequests === undefined) return this.#goesOn(handle, tool, running.message)
    return {
      input: Payload.of({ resultType: 'input_required', inputRequests, requestState: 'asked' }, 'modern'),
    }
  }

  /** Ends every wait: the gateway stops, and who waits gets the handle once more. */
  stopWaiting(): void {
    for (const wake of [...this.#waits]) wake()
  }

  #goesOn(handle: string, tool: string, message?: string): Answer {
    const how = message === undefined ? '' : ` (${message})`
    const text = `The call of ${tool} takes long and goes on${how}. Ask the tool result for its answer: {"handle": "${handle}"}`
    const answer = createUpstreamAnswer({
      content: [{ type: 'text', text }],
      _meta: { [META]: { handle, status: 'working' } },
    })
    if ('result' in answer) this.#said.add(answer.result)
    return answer
  }

  /** Resolves when the call has ended or asks something, when the time is over, or when nobody waits any more. */
  #change(running: RunningCall, call: Call, ms: number, clock: Clock): Promise<void> {
    const { client } = call.exchange.session
    const isOver = (): boolean =>
      running.answer !== undefined || running.getInputRequests(client) !== undefined
    if (isOver() || ms === 0) return Promise.resolve()
    const tell = progressOf(call)
    return new Promise(resolve => {
      const wake = (): void => {
        this.#waits.delete(wake)
        disarm()
        unwatch()
        unlisten()
        resolve()
      }
      this.#waits.add(wake)
      const disarm = clock.after(ms, wake)
      const unwatch = running.watch(() => (isOver() ? wake() : tell(running.message)))
      let unlisten = (): void => undefined
      unlisten = call.onCancel(wake)
    })
  }
}

function waitOf({ wait_ms: wait }: JsonObject, { waitMs }: SlowCall): number {
  return typeof wait === 'number' && wait >= 0 ? Math.min(wait, waitMs) : waitMs
}

/** Tells a client that wants to hear of progress what the server says. */
function progressOf({ exchange }: Call): (message: string | undefined) => void {
  const meta = exchange.params?._meta
  const progressToken = isObject(meta) ? meta.progressToken : undefined
  if (progressToken === undefined) return () => undefined
  let progress = 0
  return message =>
    exchange.emit({
      method: 'notifications/progress',
      params: { progressToken, progress: ++progress, ...(message === undefined ? {} : { message }) },
    })
}
