import { defineErrors, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_POLICY_DENIED: {
    text: '{what} is not allowed: {why}',
    hint: 'Check the section "policy" of gateway.yaml; test a call with "gateway policy test".',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_SCOPE: {
    text: '{what} needs the scope {scopes}',
    hint: 'Request a token with these scopes from the issuer; the rules are in the section "policy".',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_UNANSWERED: {
    text: '{what} needs approval, and no approver is available: rule "{rule}"',
    hint: 'Add the section "approve" to gateway.yaml.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
  GW_POLICY_OUTDATED: {
    text: '{what} was approved but not run: {why}',
    hint: 'The configuration changed while the call waited for approval. Call again to request a new approval.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

export const policyError = defineErrors(ERRORS)
