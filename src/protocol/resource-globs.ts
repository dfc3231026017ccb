import { globs } from '../util/globs.ts'
import { canonicalPattern, canonicalUri, foldedUri } from './uri.ts'

type Test = (uri: string) => boolean

/**
 * A test for URIs and URI templates that a rule allows, however they are spelled. What has no canonical form is compared as
 * it stands: only what a server lists so gets that far.
 */
export function allowsUris(patterns: string | readonly string[]): Test {
  const matches = globs(listOf(patterns).map(canonicalPattern))
  return uri => matches(canonicalForm(uri))
}

/**
 * The same for a rule that forbids, or asks for more than others: it also matches what many servers take for the same
 * resource, such as `notes://X//a/` for `notes://x/a`.
 */
export function forbidsUris(patterns: string | readonly string[]): Test {
  const given = listOf(patterns)
  const canonical = given.map(canonicalPattern)
  const matches = globs([...new Set([...given, ...canonical, ...canonical.map(foldedUri)])])
  return uri => {
    if (matches(uri)) return true
    const own = canonicalForm(uri)
    return (own !== uri && matches(own)) || matches(foldedUri(own))
  }
}

/** A template is no URI, but what stands between its expressions is part of some. */
function canonicalForm(uri: string): string {
  return (uri.includes('{') ? undefined : canonicalUri(uri)) ?? canonicalPattern(uri)
}

function listOf(patterns: string | readonly string[]): readonly string[] {
  return typeof patterns === 'string' ? [patterns] : patterns
}
