import type { Credentials } from '../../src/plugin.ts'

/** What a caller showed: nothing, something that cannot be read, or one secret. */
export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'bad'; readonly why: string }
  | { readonly kind: 'secret'; readonly secret: string; readonly isToken: boolean }

/** Longer ones are refused unread. Node itself reads at most 16 KiB of headers. */
const MAX_LENGTH = 8 * 1024
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/** The one secret of a request. Two are refused: which of them counted would be a guess. */
export function credentialOf(credentials: Credentials, keyHeader: string): Credential {
  const authorization = credentials.header('authorization')
  const keys = credentials.header(keyHeader)
  if (authorization.length + keys.length > 1) return bad('more than one credential was sent')
  const [key = ''] = keys
  const [sent] = authorization
  if (sent === undefined) return keys.length === 0 ? { kind: 'none' } : secretOf(key, false)
  const token = sent.length > MAX_LENGTH ? undefined : BEARER.exec(sent)?.[1]
  return token === undefined ? bad('Authorization is no Bearer credential') : secretOf(token, isJwt(token))
}

function secretOf(secret: string, isToken: boolean): Credential {
  return secret === '' || secret.length > MAX_LENGTH
    ? bad('the credential has no acceptable length')
    : { kind: 'secret', secret, isToken }
}

/** Our keys have no dots. */
function isJwt(token: string): boolean {
  return token.includes('.')
}

function bad(why: string): Credential {
  return { kind: 'bad', why }
}
