import type { Plugin } from '../../src/plugin.ts'
import { VAULT_ERRORS } from './vault/errors.ts'

/** Logs in to upstreams that ask for OAuth tokens. */
export const oauth: Plugin<undefined> = {
  name: 'oauth',
  claims: { upstream: ['oauth'] },
  errors: VAULT_ERRORS,
  setup() {
    // The flow taps here.
  },
}
