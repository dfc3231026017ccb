import type { Gate, Moves, SharedStore, Upstream, UpstreamConfig, UpstreamContext } from '../api/index.ts'
import type { Surroundings } from './generation.ts'

/** Parts that differ in a process that is one of several of a gateway. */
export interface Inside {
  readonly builtins?: Surroundings['builtins']
  /** Makes upstreams that another process owns; undefined for those of this one. */
  readonly upstream?: (spec: UpstreamConfig, context: UpstreamContext) => Upstream | undefined
  readonly role?: Surroundings['role']
  /** Memory that this process shares with the others. */
  readonly shared?: SharedStore | undefined
  /** Hears, too, what upstreams say that belongs to no request. */
  readonly said?: Surroundings['upstreamSays']
  /** Runs a verb of the owner on the whole gateway, where this process is but one part of it. */
  readonly control?: Surroundings['control']
  /** Ways to give connections to the others. */
  readonly moves?: Moves
  /** The gate as listeners see it. */
  readonly wrapGate?: (gate: Gate) => Gate
}
