import { createHash, randomBytes } from 'node:crypto'
import { gatewayError } from '../../errors/errors.ts'
import type { Terminal } from '../output/terminal.ts'

const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/
const SCOPE_NAME = /^[!#-[\]-~]{1,128}$/

/** Lets a scanner recognise a key that was published by accident. */
const KEY_PREFIX = 'gwk_'
const KEY_BYTES = 32

/** A key, and how gateway.yaml knows it. */
interface NewKey {
  readonly name: string
  readonly key: string
  readonly hash: string
  readonly scopes: readonly string[]
}

/**
 * 256 random bits: nobody guesses them, so one round of SHA-256 keeps them as well as many would.
 * @throws GatewayError GW_USAGE when a name or a scope is none.
 */
export function createKey(name: string, scopes: readonly string[]): NewKey {
  if (!KEY_NAME.test(name))
    throw gatewayError('GW_USAGE', {
      what: `"${name}" is no name for a key: use at most 64 letters, digits and . _ @ -`,
    })
  const odd = scopes.find(scope => !SCOPE_NAME.test(scope))
  if (odd !== undefined) throw gatewayError('GW_USAGE', { what: `"${odd}" is no scope` })
  const key = `${KEY_PREFIX}${randomBytes(KEY_BYTES).toString('base64url')}`
  return { name, key, hash: `sha256:${createHash('sha256').update(key).digest('hex')}`, scopes }
}

/** The key for its holder, and the line for the owner, in both forms. */
export function formatKey({ name, key, hash, scopes }: NewKey, { out }: Terminal): string[] {
  const may = scopes.length === 0 ? '' : `, scopes: ${JSON.stringify(scopes)}`
  return [
    out.paint('dim', 'For its holder, shown this once:'),
    `  ${key}`,
    out.paint('dim', 'For auth.keys in gateway.yaml:'),
    `  - { name: ${JSON.stringify(name)}, hash: ${JSON.stringify(hash)}${may} }`,
    out.paint('dim', 'Or as a line of the file that auth.keysFile names:'),
    `  ${[name, hash, ...scopes].join(' ')}`,
  ]
}
