import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of profiles. */
export const ERRORS = {
  GW_PROFILE_UNKNOWN: {
    text: 'there is no profile "{profile}"',
    hint: 'profiles.<name> declares one; with `principals` it is for those callers only.',
    http: 404,
    rpc: RPC.invalidParams,
  },
} as const

export const profileError = errorsOf(ERRORS)
