import type { CatalogEntry } from './catalog-entry.ts'
import type { Call, Exchange } from './exchange.ts'
import type { JsonObject } from '../protocol/json/json.ts'

/** Call stages, in order. */
export const EXPLAIN_STAGES = ['caller', 'listing', 'request', 'route', 'call', 'dispatch', 'server'] as const

/** Effect of a step. `depends`: decided by facts not known in advance. */
type Effect = 'passes' | 'changes' | 'answers' | 'refuses' | 'asks' | 'depends'

/** One step of an explained call, as the responsible plugin reports it. */
export interface ExplainStep {
  /** The plugin, or `core`. */
  readonly by: string
  readonly at: (typeof EXPLAIN_STAGES)[number]
  readonly does: Effect
  /** One line for people. */
  readonly text: string
  /** The deciding rule: a name, or a JSON pointer into the configuration. */
  readonly rule?: string
  /** True for a temporary state, such as a reached limit, rather than a rule. */
  readonly isPassing?: boolean
  /** Additional data for programs. */
  readonly facts?: JsonObject
}

/** A hypothetical call to be explained. */
export interface ExplainedCall {
  /** The request, never run. `params.arguments` is set only if given. */
  readonly exchange: Exchange
  readonly hasArguments: boolean
  /** The tool as its caller sees it; undefined if hidden. */
  readonly entry: CatalogEntry | undefined
  /** The upstream call, never sent; undefined if the request would reach no server. */
  readonly call: Call | undefined
}
