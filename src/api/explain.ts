import type { CatalogEntry } from './catalog-entry.ts'
import type { Call, Exchange } from './exchange.ts'
import type { JsonObject } from '../protocol/json/json.ts'
export type { CallPhase, PhaseTimes } from './exchange.ts'

/** Places on the way of a call, in the order in which it passes them. */
export const EXPLAIN_STAGES = ['caller', 'listing', 'request', 'route', 'call', 'dispatch', 'server'] as const

/**
 * Effect of a step: the call passes · it is changed · it is answered here · it is refused · somebody is asked first · that
 * depends on what is not known now.
 */
type Effect = 'passes' | 'changes' | 'answers' | 'refuses' | 'asks' | 'depends'

/** One step on the way that a call would take, as the plugin says it that would do something there. */
export interface ExplainStep {
  /** The plugin, or `core`. */
  readonly by: string
  readonly at: (typeof EXPLAIN_STAGES)[number]
  readonly does: Effect
  /** One line for people. */
  readonly text: string
  /** The rule that says so: a name, or a place in the configuration as a JSON pointer. */
  readonly rule?: string
  /** True if that passes by itself, as a limit that is reached does: no rule says so for good. */
  readonly isPassing?: boolean
  /** More, for programs. */
  readonly facts?: JsonObject
}

/** A call that nobody makes: somebody wants to know what would come of it. */
export interface ExplainedCall {
  /** The request, never run. Its `params.arguments` are there only if they were given. */
  readonly exchange: Exchange
  readonly hasArguments: boolean
  /** The tool as its caller sees it; undefined if he does not. */
  readonly entry: CatalogEntry | undefined
  /** The request to the server, never sent; undefined where the call would reach none. */
  readonly call: Call | undefined
}
