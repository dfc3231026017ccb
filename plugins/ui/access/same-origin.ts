import type { PageRequest } from './page-request.ts'

/**
 * True unless a page of another origin sent the request. Browsers say so in a header that no page can set, and where they
 * do not, as over plain HTTP, they name the origin. The same host on another port is another origin.
 */
export function isSameOrigin({ header, endpoint }: Pick<PageRequest, 'header' | 'endpoint'>): boolean {
  const [site] = header('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin'
  const [origin] = header('origin')
  if (origin === undefined) return true
  const [host = ''] = header('host')
  const name = origin.toLowerCase()
  return [`http://${host}`, `https://${host}`, originOf(endpoint)].some(own => own.toLowerCase() === name)
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? ''
}
