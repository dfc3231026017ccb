/**
 * Part of the way of a call: `before` it leaves for a server, rules (`policy`), what is kept (`cache`), the wait for a turn (`queue`),
 * the server itself (`upstream`), the client while it is asked something, plugins that do not say what they do (`other`), and what
 * comes after the server's answer.
 */
export type Phase = 'before' | 'policy' | 'cache' | 'queue' | 'upstream' | 'client' | 'other' | 'after'

/** How long an exchange was in each phase so far, in milliseconds. Each moment belongs to one phase: the sum is its age. */
export interface PhaseTimes extends Readonly<Record<Phase, number>> {
  /** Times that a server was asked; 0 where a plugin answered in its place. */
  readonly tries: number
  /** True once it had left for a server, whether that was asked or not. */
  readonly isDispatched: boolean
}
