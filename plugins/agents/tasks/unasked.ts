import { reasonOf } from '../../../src/plugin.ts'
import { callInOneLine } from '../permissions/question.ts'
import type { AgentToolCall } from '../types/agent.ts'
import type { AgentSettings } from '../types/settings.ts'
import type { LiveTask, TaskContext } from './context.ts'

/** Calls of one turn that are remembered, and compared. */
const MAX_CALLS = 1000

/**
 * Calls that an agent makes without asking, as its own settings or mode allow them. Nothing here can stop one; the task
 * has a warning of each that a rule denies.
 */
export class Unasked {
  readonly #context: TaskContext
  readonly #live: LiveTask
  readonly #settings: AgentSettings
  readonly #cwd: string
  readonly #asked = new Set<string>()
  #left = MAX_CALLS

  constructor(context: TaskContext, live: LiveTask, settings: AgentSettings, cwd: string) {
    this.#context = context
    this.#live = live
    this.#settings = settings
    this.#cwd = cwd
  }

  wasAsked({ id }: AgentToolCall): void {
    if (this.#asked.size < MAX_CALLS) this.#asked.add(id)
  }

  /** Compares a call that is over with the rules. One that failed after a denial may be what was denied, by another id. */
  compare(call: AgentToolCall): void {
    const { deniedBy, compared } = this.#live
    const isOver = call.status === 'completed' || (call.status === 'failed' && deniedBy === undefined)
    if (!isOver || this.#asked.has(call.id) || !this.#mayDeny() || this.#left-- <= 0) return
    this.#live.compared = compared.then(() => this.#warn(call))
  }

  /** The default is for what is asked: agents look at files all the time, and ask for none. */
  #mayDeny(): boolean {
    return this.#settings.permissions.rules.some(rule => rule.do === 'deny')
  }

  async #warn(call: AgentToolCall): Promise<void> {
    const { parts, environment } = this.#context
    const { id, permissions } = this.#settings
    const own = { ...permissions, default: 'ask' } as const
    try {
      const { do: verdict, by } = await parts.containment.decide(call, own, this.#cwd)
      if (verdict !== 'deny') return
      const line = `${id} did not ask for what ${by} denies: ${callInOneLine(call, environment.hide)}`
      this.#live.journal.warn(line)
    } catch (error) {
      environment.log.warn('what an agent did unasked could not be compared with the rules', {
        why: reasonOf(error),
      })
    }
  }
}
