import { ASKS } from './asks.ts'
import { BASICS } from './basics.ts'
import { CALLS } from './calls.ts'
import type { Check } from './check.ts'
import { EVENTS } from './events.ts'
import { TRANSPORTS } from './transports.ts'

/** Every check by the id of its requirement. */
export const CHECKS: Readonly<Record<string, Check>> = {
  ...BASICS,
  ...CALLS,
  ...EVENTS,
  ...ASKS,
  ...TRANSPORTS,
}
