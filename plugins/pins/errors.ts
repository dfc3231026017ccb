import { defineErrors, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_DEFINITION_CHANGED: {
    text: '{what} "{name}" is withheld: its definition is not the one that was accepted{like}',
    hint: 'The owner of the gateway reads "gateway lock diff {upstream}", and takes the change in with "gateway lock accept".',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_DEFINITION_NEW: {
    text: '{what} "{name}" is withheld: nobody has accepted its definition yet',
    hint: 'The owner of the gateway reads "gateway lock diff {upstream}", and takes it in with "gateway lock".',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_PACKAGE_CHANGED: {
    text: 'the program of upstream "{upstream}" is not the one that was accepted: {what}',
    hint: 'Read "gateway lock diff {upstream}", and take the program in with "gateway lock accept"; a package of npm must be installed where its integrity is wanted.',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_PINS_LOCK: {
    text: '{file} cannot be used: {why}',
    hint: 'Take it from version control as it was, or delete it, run "gateway lock", and review what that writes.',
    exit: 3,
  },
  GW_PINS_LOCK_VERSION: {
    text: '{file} was written by a newer tapgate ({version})',
    hint: 'Use that version here too, or write the file again with this one: delete it, run "gateway lock", and review it.',
    exit: 3,
  },
  GW_PINS_EXPECT: {
    text: 'upstream "{upstream}" is not what was read: it is {found} now',
    hint: 'Read "gateway lock diff {upstream}" again, and accept what that says.',
    exit: 1,
  },
} as const

export const pinsError = defineErrors(ERRORS)
