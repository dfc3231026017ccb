import { canonicalizeUri } from './uri.ts'

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is
const EXPOSED = /^skill:\/\/([a-z][a-z0-9-]*)\/(.*)$/is
/** A path that begins with another scheme: `github:/owner/repository/…`. */
const INNER = /^([a-z][a-z0-9+.-]*):\/(.*)$/is

/** Returns the URI that clients see: `skill://refunds/SKILL.md` of `crm` becomes `skill://crm/refunds/SKILL.md`. */
export function toSkillUri(upstream: string, uri: string): string {
  const [, scheme = '', rest = ''] = SCHEME.exec(uri) ?? []
  if (scheme === '') return uri
  const isPlain = scheme.toLowerCase() === 'skill' && !INNER.test(rest)
  return `skill://${upstream}/${isPlain ? rest : `${scheme}:/${rest}`}`
}

/** Returns the upstream and its own URI in canonical form; undefined if the URI has another form. */
export function parseSkillUri(uri: unknown): { readonly upstream: string; readonly uri: string } | undefined {
  const [, upstream, path = ''] = (typeof uri === 'string' ? EXPOSED.exec(uri) : null) ?? []
  if (upstream === undefined) return undefined
  const [, scheme, rest = ''] = INNER.exec(path) ?? []
  return { upstream, uri: canonicalizeUri(scheme === undefined ? `skill://${path}` : `${scheme}://${rest}`) }
}
