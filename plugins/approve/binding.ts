import { createHash } from 'node:crypto'
import { actorKey, type ApprovalRequest, canonical } from '../../src/plugin.ts'

/**
 * Digest of everything that a decision is about: who calls what with which arguments, as it is defined now, under which
 * rules. An audit, the owner and the webhook are told of a call by it.
 */
export function bindingOf({ call, rules }: ApprovalRequest): string {
  const { upstream, method, params, exchange } = call
  const bound = {
    actor: actorKey(exchange.principal),
    upstream,
    method,
    name: params?.name ?? params?.uri ?? null,
    arguments: params?.arguments ?? null,
    definition: exchange.entry === undefined ? null : exchange.entry.value,
    rules,
  }
  return createHash('sha256').update(canonical(bound)).digest('hex')
}
