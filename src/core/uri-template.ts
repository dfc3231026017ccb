/** Longest URI that is compared with a template. */
const MAX_URI = 8192

/**
 * Whether a URI could come from an RFC 6570 template: its literal parts stand in the URI in order.
 * Linear in the URI, whatever the template.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  if (uri.length > MAX_URI) return false
  const literals = template.split(/\{[^}]*\}/)
  const first = literals[0] ?? ''
  const last = literals.length > 1 ? (literals.at(-1) ?? '') : ''
  if (literals.length === 1) return uri === template
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false
  let at = first.length
  const end = uri.length - last.length
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at)
    if (found < 0 || found + literal.length > end) return false
    at = found + literal.length
  }
  return true
}
