import { compileGlobs } from '../util/globs.ts'
import { canonicalizePattern, parseCanonicalUri, foldUri, normalizeAuthority } from './uri.ts'

/** Longest URI that is compared with a template, and longest template. */
const MAX_LENGTH = 4096

/** A template as a server writes it may be so many times as long as its canonical form, by escapes such as `%61`. */
const MAX_ESCAPED = 3

/** Literals up to this are searched for natively, as nothing can be slow with them. */
const SHORT = 4

type UriTest = (uri: string) => boolean

/**
 * A test for URIs and URI templates that a rule allows, however they are spelled. What has no canonical form is compared as
 * it stands: only what a server lists so gets that far.
 */
export function compileAllowedUris(patterns: string | readonly string[]): UriTest {
  const matches = compileGlobs(toPatternList(patterns).map(canonicalizePattern))
  return uri => matches(canonicalizeOrPattern(uri))
}

/**
 * The same for a rule that forbids, or asks for more than others: it also matches what many servers take for the same
 * resource, such as `notes://X//a/` for `notes://x/a`.
 */
export function compileForbiddenUris(patterns: string | readonly string[]): UriTest {
  const given = toPatternList(patterns)
  const canonical = given.map(canonicalizePattern)
  const matches = compileGlobs([...new Set([...given, ...canonical, ...canonical.map(foldUri)])])
  return uri => {
    if (matches(uri)) return true
    const own = canonicalizeOrPattern(uri)
    return (own !== uri && matches(own)) || matches(foldUri(own)) || matches(foldUri(normalizeAuthority(own)))
  }
}

/** A template is no URI, but what stands between its expressions is part of some. */
function canonicalizeOrPattern(uri: string): string {
  return (uri.includes('{') ? undefined : parseCanonicalUri(uri)) ?? canonicalizePattern(uri)
}

function toPatternList(patterns: string | readonly string[]): readonly string[] {
  return typeof patterns === 'string' ? [patterns] : patterns
}

/**
 * Tells whether a URI could come from an RFC 6570 template: its literal parts stand in the URI in order.
 * Takes time linear in both, whatever a server or a client sends.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  if (uri.length > MAX_LENGTH || template.length > MAX_LENGTH) return false
  const [first = '', ...others] = extractLiterals(template)
  const last = others.pop()
  if (last === undefined) return uri === template
  const end = uri.length - last.length
  return (
    end >= first.length &&
    uri.startsWith(first) &&
    uri.endsWith(last) &&
    containsInOrder(others, uri, first.length, end)
  )
}

/** The same for a template as its server wrote it. What is too long to match is not even brought into its canonical form. */
export function matchesRawTemplate(template: string, uri: string): boolean {
  if (template.length > MAX_LENGTH * MAX_ESCAPED) return false
  return matchesTemplate(canonicalizePattern(template), uri)
}

/** Returns the texts around the expressions of a template; an expression that does not end counts as text. */
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
    const found = literal.length <= SHORT ? uri.indexOf(literal, at) : findLinear(literal, uri, at)
    if (found < 0 || found + literal.length > end) return false
    at = found + literal.length
  }
  return true
}

/** `indexOf` that never looks at a character of the text twice (Knuth, Morris and Pratt): the native one may be quadratic. */
function findLinear(literal: string, text: string, from: number): number {
  const back = computeFallbacks(literal)
  let matched = 0
  for (let at = from; at < text.length; at++) {
    while (matched > 0 && text.charCodeAt(at) !== literal.charCodeAt(matched))
      matched = back[matched - 1] as number
    if (text.charCodeAt(at) === literal.charCodeAt(matched)) matched++
    if (matched === literal.length) return at - matched + 1
  }
  return -1
}

/** For each part of a literal from its start, how much of its own start it ends with. */
function computeFallbacks(literal: string): Uint16Array {
  const back = new Uint16Array(literal.length)
  let matched = 0
  for (let at = 1; at < literal.length; at++) {
    while (matched > 0 && literal.charCodeAt(at) !== literal.charCodeAt(matched))
      matched = back[matched - 1] as number
    if (literal.charCodeAt(at) === literal.charCodeAt(matched)) matched++
    back[at] = matched
  }
  return back
}
