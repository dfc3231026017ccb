import { compileGlobs } from '../util/globs.ts'
import { canonicalizePattern, parseCanonicalUri, foldUri, normalizeAuthority } from './uri.ts'

/** Maximum matched URI and template length. */
const MAX_LENGTH = 2048

/** Factor by which a raw template may exceed its canonical form, through escapes such as `%61`. */
const MAX_ESCAPED = 3

type UriTest = (uri: string) => boolean

/**
 * Compiles a test for allowed URIs and URI templates in any spelling. Values without a canonical form are compared
 * verbatim; these can only come from a server's list.
 */
export function compileAllowedUris(patterns: string | readonly string[]): UriTest {
  const matches = compileGlobs(toPatternList(patterns).map(canonicalizePattern))
  return uri => matches(canonicalizeOrPattern(uri))
}

/**
 * Compiles a test for rules that forbid or restrict: it also matches spellings that many servers treat as the same
 * resource, such as `notes://X//a/` for `notes://x/a`.
 */
export function compileForbiddenUris(patterns: string | readonly string[]): UriTest {
  const list = toPatternList(patterns)
  const canonical = list.map(canonicalizePattern)
  const matches = compileGlobs([...new Set([...list, ...canonical, ...canonical.map(foldUri)])])
  return uri => {
    if (matches(uri)) return true
    const own = canonicalizeOrPattern(uri)
    return (own !== uri && matches(own)) || matches(foldUri(own)) || matches(foldUri(normalizeAuthority(own)))
  }
}

/** A template is not a URI, but its literal parts are. */
function canonicalizeOrPattern(uri: string): string {
  return (uri.includes('{') ? undefined : parseCanonicalUri(uri)) ?? canonicalizePattern(uri)
}

function toPatternList(patterns: string | readonly string[]): readonly string[] {
  return typeof patterns === 'string' ? [patterns] : patterns
}

/**
 * Returns true if a URI may match an RFC 6570 template: its literal parts appear in the URI in order.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  if (uri.length > MAX_LENGTH || template.length > MAX_LENGTH) return false
  const [first = '', ...literals] = extractLiterals(template)
  const last = literals.pop()
  if (last === undefined) return uri === template
  const end = uri.length - last.length
  return (
    end >= first.length &&
    uri.startsWith(first) &&
    uri.endsWith(last) &&
    containsInOrder(literals, uri, first.length, end)
  )
}

/** Matches a template as its server wrote it. Templates that are too long are rejected before canonicalization. */
export function matchesRawTemplate(template: string, uri: string): boolean {
  if (template.length > MAX_LENGTH * MAX_ESCAPED) return false
  return matchesTemplate(canonicalizePattern(template), uri)
}

/** Extracts the literals around the expressions; an unclosed expression counts as text. */
function extractLiterals(template: string): string[] {
  const literals: string[] = []
  let from = 0
  for (;;) {
    const open = template.indexOf('{', from)
    const close = open < 0 ? -1 : template.indexOf('}', open)
    if (close < 0) return [...literals, template.slice(from)]
    literals.push(template.slice(from, open))
    from = close + 1
  }
}

function containsInOrder(literals: readonly string[], uri: string, from: number, end: number): boolean {
  let at = from
  for (const literal of literals) {
    const index = uri.indexOf(literal, at)
    if (index < 0 || index + literal.length > end) return false
    at = index + literal.length
  }
  return true
}
