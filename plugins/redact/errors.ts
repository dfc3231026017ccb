import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of what is taken out of messages. */
export const ERRORS = {
  GW_REDACT_ARGUMENTS: {
    text: 'the arguments hold what must not leave here: {found}',
    hint: 'Leave it out of the call; a rule of redact in gateway.yaml says what is looked for.',
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_REDACT_RESULT: {
    text: 'the answer holds what must not be passed on: {found}',
    hint: 'A rule of redact in gateway.yaml says what is looked for; action: replace passes the rest on.',
    http: 403,
    rpc: RPC.internal,
  },
  GW_REDACT_SIZE: {
    text: 'the message is larger than the {bytes} bytes in which redact looks for what must not pass',
    hint: 'Ask for less; or raise redact.maxBytes, or set redact.oversized: pass, in gateway.yaml.',
    http: 413,
    rpc: RPC.invalidParams,
  },
} as const

export const redactError = errorsOf(ERRORS)
