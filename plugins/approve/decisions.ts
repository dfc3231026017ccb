import type { Decision, WaitingCalls } from './waiting-calls.ts'

/** The one place where decisions on calls are made, whichever way they come. */
export interface Decisions {
  /** Decides on a call that waits; false where none of that name does. Rejects where it cannot be told whether it does. */
  decide(id: string, decision: Decision): Promise<boolean>
}

/** Decisions on the calls of this process. */
export function ownDecisions(waiting: WaitingCalls): Decisions {
  return { decide: (id, decision) => Promise.resolve(waiting.decide(id, decision)) }
}
