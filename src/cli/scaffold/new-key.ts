import { createHash, randomBytes } from 'node:crypto'
import { gatewayError } from '../../errors/errors.ts'
import type { Terminal } from '../output/terminal.ts'

const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/
const SCOPE_NAME = /^[!#-[\]-~]{1,128}$/

/** Prefix for secret scanners. */
const KEY_PREFIX = 'gwk_'
const KEY_BYTES = 32

interface NewKey {
  readonly name: string
  readonly key: string
  readonly hash: string
  readonly scopes: readonly string[]
}

/**
 * Creates a key from 256 random bits, which need only one round of SHA-256.
 * @throws GatewayError GW_USAGE if the name or a scope is invalid
 */
export function createKey(name: string, scopes: readonly string[]): NewKey {
  if (!KEY_NAME.test(name))
    throw gatewayError('GW_USAGE', {
      what: `"${name}" is not a valid key name: use at most 64 letters, digits and . _ @ -`,
    })
  const odd = scopes.find(scope => !SCOPE_NAME.test(scope))
  if (odd !== undefined) throw gatewayError('GW_USAGE', { what: `"${odd}" is not a valid scope` })
  const key = `${KEY_PREFIX}${randomBytes(KEY_BYTES).toString('base64url')}`
  return { name, key, hash: `sha256:${createHash('sha256').update(key).digest('hex')}`, scopes }
}

export function formatKey({ name, key, hash, scopes }: NewKey, { out }: Terminal): string[] {
  const may = scopes.length === 0 ? '' : `, scopes: ${JSON.stringify(scopes)}`
  return [
    out.paint('dim', 'API key, shown only once:'),
    `  ${key}`,
    out.paint('dim', 'For auth.keys in gateway.yaml:'),
    `  - { name: ${JSON.stringify(name)}, hash: ${JSON.stringify(hash)}${may} }`,
    out.paint('dim', 'Or as a line of auth.keysFile:'),
    `  ${[name, hash, ...scopes].join(' ')}`,
  ]
}
