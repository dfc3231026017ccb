import type { Call } from '../core/ports.ts'
import type { RpcResponse } from '../protocol/jsonrpc.ts'
import { METHODS } from '../protocol/methods.ts'

/**
 * What is known of one tool, prompt or method of a server: `quiet` was answered without an ask, `suspect` was open when
 * an ask came that could have been its, `asks` was seen asking.
 */
export type Manner = 'unknown' | 'quiet' | 'suspect' | 'asks'

/** Things remembered of one sort; the oldest is forgotten first. */
const MAX_KNOWN = 2000
/** Answers that prove little, after which a thing counts as quiet. */
const MAX_WEAK = 3
/** What is asked of a server in nobody's name. */
const NOBODYS: ReadonlySet<string> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])

/** How one tool, prompt or method behaves. */
export class Habit {
  manner: Manner = 'unknown'
  /** Whether it shares the pipe with nobody any more. */
  isJealous = false
  #roots = 0
  #weak = 0
  /** All that were open with it when an ask could not be told apart. */
  #incident: readonly Habit[] = []

  /** It was the only one that can have asked. Once it is known, those suspected with it go free. */
  seen(method: string): void {
    if (this.manner === 'asks' || !this.#counts(method)) return
    this.manner = 'asks'
    for (const other of this.#incident) if (other.manner === 'suspect') other.manner = 'quiet'
    this.#incident = []
  }

  /** It may have asked, or one of the others has. */
  suspected(method: string, incident: readonly Habit[]): void {
    if (this.manner === 'asks' || !this.#counts(method)) return
    this.manner = 'suspect'
    this.#incident = incident
  }

  /** It shared the pipe when an ask came that may have been its. */
  disturbed(): void {
    if (this.manner === 'asks') this.isJealous = true
  }

  /** It was answered. An error says little of what it does when all is well. */
  answered({ result, error }: RpcResponse): void {
    if (this.manner !== 'unknown') return
    const isWeak = error !== undefined || this.#roots > 0 || isFailure(result)
    if (!isWeak || ++this.#weak >= MAX_WEAK) this.manner = 'quiet'
  }

  /** Servers ask for roots in the background: once proves nothing. */
  #counts(method: string): boolean {
    return method !== 'roots/list' || ++this.#roots > 1
  }
}

/** The habits of one server, as long as the gateway knows it. They decide who waits, never whose an ask is. */
export class Habits {
  /** Whether the server has asked while no call was open that could have been the reason. */
  asksUncalled = false
  readonly #tools = new Map<unknown, Habit>()
  readonly #prompts = new Map<unknown, Habit>()
  readonly #methods = new Map<unknown, Habit>()

  /** Undefined for what no client's request can be about. */
  of({ method, params }: Call): Habit | undefined {
    if (method === 'tools/call') return known(this.#tools, params?.name)
    if (method === 'prompts/get') return known(this.#prompts, params?.name)
    if (METHODS.get(method)?.to === 'list' || NOBODYS.has(method)) return undefined
    return known(this.#methods, method)
  }
}

function known(habits: Map<unknown, Habit>, name: unknown): Habit {
  const habit = habits.get(name)
  if (habit !== undefined) return habit
  if (habits.size >= MAX_KNOWN) habits.delete(habits.keys().next().value)
  const made = new Habit()
  habits.set(name, made)
  return made
}

function isFailure(result: RpcResponse['result']): boolean {
  try {
    return result?.value().isError === true
  } catch {
    return true
  }
}
