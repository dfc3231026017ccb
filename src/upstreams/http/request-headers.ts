import { HEADER } from '../../protocol/methods.ts'

/** Names that HTTP or MCP owns: neither the configuration nor a call may set them. */
const OWNED: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  HEADER.session,
  HEADER.version,
  HEADER.method,
  HEADER.name,
  HEADER.lastEventId,
])

/** Names that carry credentials: the configuration may set them, a call may not. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** The headers of every request: who we are, and what the configuration adds. */
export function standingHeaders(
  configured: Readonly<Record<string, string>>,
  agent: string,
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': agent }
  for (const [name, value] of Object.entries(configured)) {
    const lower = name.toLowerCase()
    if (!OWNED.has(lower)) headers[lower] = value
  }
  return headers
}

/** Adds the headers of one call, except those that are not a call's to set. */
export function addCallHeaders(
  headers: Record<string, string>,
  added: Readonly<Record<string, string>>,
  standing: Readonly<Record<string, string>>,
): void {
  for (const name in added) {
    const value = added[name]
    const isTaken = OWNED.has(name) || CREDENTIALS.has(name) || Object.hasOwn(standing, name)
    if (value !== undefined && !isTaken) headers[name] = value
  }
}
