import { createHash } from 'node:crypto'
import { actorKey, type ApprovalRequest, isObject } from '../../src/plugin.ts'

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

/** Plain data as JSON with its names in order (JCS, RFC 8785): the same data is the same text. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const names = Object.keys(value).filter(name => value[name] !== undefined)
  return `{${names
    .sort()
    .map(name => `${JSON.stringify(name)}:${canonical(value[name])}`)
    .join(',')}}`
}
