import { defineErrors, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_DEFINITION_CHANGED: {
    text: '{what} "{name}" is withheld: its definition differs from the accepted one',
    hint: 'The owner can review it with "gateway lock diff {upstream}", and accept it with "gateway lock accept".',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_DEFINITION_NEW: {
    text: '{what} "{name}" is withheld: its definition has not been accepted yet',
    hint: 'The owner can review it with "gateway lock diff {upstream}", and add it with "gateway lock".',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_PINS_LOCK: {
    text: '{file} is unusable: {why}',
    hint: 'Restore it from version control, or delete it, run "gateway lock", and review the result.',
    exit: 3,
  },
  GW_PINS_EXPECT: {
    text: 'upstream "{upstream}" has changed since the review: the hash is now {found}',
    hint: 'Run "gateway lock diff {upstream}" again, and accept its hash.',
    exit: 6,
  },
} as const

export const pinsError = defineErrors(ERRORS)
