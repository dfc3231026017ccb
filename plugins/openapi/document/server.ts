import { isIP } from 'node:net'
import { textAt } from '../../../src/plugin.ts'

/** Names that lead to no public address. */
const PRIVATE =
  /(^|\.)(localhost|local|internal|intranet|lan|corp|home|home\.arpa|localdomain|test|invalid|example|onion)$/i

/** Origin of a document. */
interface From {
  /** Undefined where it is a file. */
  readonly url: URL | undefined
  /** The server of the configuration. */
  readonly server: string | undefined
}

/**
 * The URL that paths are appended to. Credentials go there, so a document alone may only name its own origin, or from a file a
 * public server reached by https.
 * @throws Error which says to write `server`
 */
export function serverOf(servers: unknown, { url, server }: From): URL {
  if (server !== undefined) return new URL(server)
  const named = firstServer(servers, url)
  if (named === undefined) throw new Error('it names no server; write the URL as "server"')
  if (url !== undefined && named.origin !== url.origin)
    throw new Error(`it names a server of another origin, ${named.origin}; write the one to call as "server"`)
  if (url === undefined && !isPublic(named))
    throw new Error(`it names ${named.origin}, which is not public by https; write the URL as "server"`)
  return named
}

/** Base path of servers of one operation; undefined where they are another origin's, whom nobody has allowed. */
export function ownPath(servers: unknown, base: URL, { url, server }: From): string | undefined {
  // The owner has said where all of it is.
  if (server !== undefined || servers === undefined) return base.pathname
  const named = firstServer(servers, url ?? base)
  return named?.origin === base.origin ? named.pathname : undefined
}

function firstServer(servers: unknown, relativeTo: URL | undefined): URL | undefined {
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
  const template = textAt(first, 'url') ?? (relativeTo === undefined ? undefined : '/')
  if (template === undefined) return undefined
  const written = template.replace(
    /\{([^{}]+)\}/g,
    (_all, name: string) => textAt(first, 'variables', name, 'default') ?? '',
  )
  const named = URL.parse(written, relativeTo?.href)
  if (named === null || !/^https?:$/.test(named.protocol) || named.username !== '') return undefined
  return named
}

function isPublic({ protocol, hostname }: URL): boolean {
  const name = hostname.replace(/\.$/, '')
  return (
    protocol === 'https:' &&
    name.includes('.') &&
    isIP(name) === 0 &&
    !name.startsWith('[') &&
    !PRIVATE.test(name)
  )
}
