/** A server's URL as its resource identifier (RFC 8707): no fragment, and no slash alone at the end. */
export function canonicalResource(url: string): string {
  const parsed = new URL(url)
  parsed.hash = ''
  parsed.username = ''
  parsed.password = ''
  return parsed.pathname === '/' && parsed.search === '' ? parsed.origin : parsed.href
}

/** True if a protected resource has the server's URL in it: the same origin, and the same path or one above it. */
export function covers(resource: string, url: string): boolean {
  const whole = URL.parse(resource)
  const part = URL.parse(url)
  if (whole === null || part === null || whole.origin !== part.origin) return false
  if (whole.search !== '' && whole.search !== part.search) return false
  const above = whole.pathname.replace(/\/+$/, '')
  const path = part.pathname.replace(/\/+$/, '')
  return path === above || path.startsWith(`${above}/`)
}
