/** The parts of a Bearer challenge that a client acts on (RFC 6750, RFC 9728). */
export interface Challenge {
  /** URL of the metadata of the protected resource. */
  readonly metadata: string | undefined
  readonly scopes: readonly string[] | undefined
  readonly error: string | undefined
}

const NOTHING: Challenge = { metadata: undefined, scopes: undefined, error: undefined }
const PARAMETER = /\s*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))\s*(?:,|$)/y
const SCHEME = /(?:^|,)\s*bearer(?:\s+|$)/gi
/** Scopes read of one challenge. */
const MAX_SCOPES = 100

/** Reads the Bearer challenge of `WWW-Authenticate`, beside which there may be others. */
export function challengeOf(header: string | undefined): Challenge {
  if (header === undefined) return NOTHING
  for (const { index, 0: scheme } of header.matchAll(SCHEME)) {
    const found = parametersAt(header, index + scheme.length)
    return {
      metadata: found.get('resource_metadata'),
      scopes: scopesOf(found.get('scope')),
      error: found.get('error'),
    }
  }
  return NOTHING
}

/** Splits a list of scopes; undefined where it names none. */
export function scopesOf(text: string | undefined): readonly string[] | undefined {
  const scopes = [...new Set(text?.split(' ').filter(scope => SCOPE.test(scope)))].slice(0, MAX_SCOPES)
  return scopes.length === 0 ? undefined : scopes
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

function parametersAt(header: string, start: number): Map<string, string> {
  const found = new Map<string, string>()
  PARAMETER.lastIndex = start
  for (let match = PARAMETER.exec(header); match !== null; match = PARAMETER.exec(header)) {
    const [, name = '', quoted, token = ''] = match
    const key = name.toLowerCase()
    // The first of two is as good as any, and nobody can add one behind it.
    if (!found.has(key)) found.set(key, quoted?.replace(/\\(.)/g, '$1') ?? token)
  }
  return found
}
