import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of the audit. */
export const ERRORS = {
  GW_AUDIT: {
    text: 'nothing is answered now, as the audit cannot be written',
    hint: 'Make room where audit.file is; it goes on by itself. audit.onFailure: continue answers without it.',
    http: 503,
    rpc: RPC.internal,
  },
} as const

export const auditError = errorsOf(ERRORS)
