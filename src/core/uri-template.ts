/** Longest URI that is compared with a template. */
const MAX_URI = 8192

/**
 * Whether a URI could come from an RFC 6570 template: its literal parts stand in the URI in order.
 * Linear in the URI, whatever the template.
 */
export function matchesTemplate(template: string, uri: string): boolean {
  if (uri.length > MAX_URI) return false
  const [first = '', ...others] = template.split(/\{[^}]*\}/)
  const last = others.pop()
  if (last === undefined) return uri === template
  const end = uri.length - last.length
  return (
    end >= first.length &&
    uri.startsWith(first) &&
    uri.endsWith(last) &&
    standsInOrder(others, uri, first.length, end)
  )
}

function standsInOrder(literals: readonly string[], uri: string, from: number, end: number): boolean {
  let at = from
  for (const literal of literals) {
    const found = uri.indexOf(literal, at)
    if (found < 0 || found + literal.length > end) return false
    at = found + literal.length
  }
  return true
}
