import { defineErrors, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_POLICY_DENIED: {
    text: '{what} is not allowed: {why}',
    hint: 'The rules are in the section policy of gateway.yaml; gateway policy test tries a call against them.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_SCOPE: {
    text: '{what} needs the scope {scopes}',
    hint: 'Ask the issuer for a token with these scopes; the rules of policy say what needs which.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_UNANSWERED: {
    text: '{what} needs the approval of a person, and nobody can be asked: rule "{rule}"',
    hint: 'Add the section approve to gateway.yaml, which says who is asked.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_OUTDATED: {
    text: '{what} was approved and not run: {why}',
    hint: 'gateway.yaml was changed while the call waited for a person. Call again: it is judged, and asked about, anew.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

export const policyError = defineErrors(ERRORS)
