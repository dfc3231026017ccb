import type { Fetch } from '../../api/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { createLazyFetch } from '../../gateway/generation.ts'
import { systemClock } from '../../util/clock.ts'
import { readList, readText, readValue } from '../../util/plain-data.ts'
import { escapeInvisible, plural, toOneLine } from '../../util/plain-text.ts'
import type { Terminal } from '../output/terminal.ts'
import { createSilentLog } from '../serve/logs.ts'
import type { RegistryEntry } from './registry.ts'
import { parseRegistryEntry } from './registry.ts'

const CARD_TYPE = 'application/mcp-server-card+json'
const CATALOG_PATH = '/.well-known/ai-catalog.json'
const MAX_CARDS = 20
/** For all documents of a server, which may have none. */
const TIMEOUT_MS = 2000

/** Creates a command's guarded fetch. `allowed` is `network.private`. */
export function createCommandFetch({ environment }: Terminal, allowed: readonly string[] = []): Fetch {
  const config = { network: { private: allowed } }
  return createLazyFetch(config as never, { clock: systemClock, log: createSilentLog(), environment })
}

/**
 * Reads the card (SEP-2127) of a server, if it has one; `isHost` looks for the server in the host's catalog first. The
 * claims of a card are unverified.
 * @throws GatewayError GW_USAGE if the catalog has several servers, or one at another host
 */
export async function discoverServer(
  address: URL,
  fetch: Fetch,
  isHost = address.pathname === '/',
): Promise<{ readonly url: URL; readonly card: RegistryEntry | undefined }> {
  const request = { namedBy: address, signal: AbortSignal.timeout(TIMEOUT_MS), headers: { accept: CARD_TYPE } }
  const read = async (document: URL): Promise<unknown> => {
    // The user named this host, no other.
    if (document.origin !== address.origin) return undefined
    const reply = await fetch(document, request).catch(() => undefined)
    return reply?.ok === true ? reply.json().catch(() => undefined) : undefined
  }
  const url = isHost ? await selectServer(address, read) : address
  const card = await read(new URL(`${url.pathname.replace(/\/$/, '')}/server-card`, url))
  return { url, card: parseRegistryEntry(card) }
}

/** Returns the URL of the only server in a host's catalog, or the address if there is no catalog. */
async function selectServer(address: URL, read: (document: URL) => Promise<unknown>): Promise<URL> {
  const entries = readList(await read(new URL(CATALOG_PATH, address)), 'entries')
  const cards = entries.filter(entry => readText(entry, 'type') === CARD_TYPE).slice(0, MAX_CARDS)
  const named = await Promise.all(
    cards.map(async entry => {
      const location = readText(entry, 'url') ?? ''
      const card = readValue(entry, 'data') ?? (URL.canParse(location) ? await read(new URL(location)) : undefined)
      return readText(readList(card, 'remotes')[0], 'url') ?? `${location} (server card)`
    }),
  )
  const servers = named.filter(text => URL.canParse(text))
  const only = servers.length === 1 ? URL.parse(servers[0] ?? '') : null
  if (servers.length === 0 || only?.origin === address.origin) return only ?? address
  const what = `${address.origin} lists ${plural(servers.length, 'server')}: add one by its URL: ${joinExcerpts(servers)}`
  throw gatewayError('GW_USAGE', { what })
}

/** Joins texts of a card on one line, with visible characters only. */
export function joinExcerpts(texts: readonly string[]): string {
  return texts.map(text => escapeInvisible(toOneLine(text)).slice(0, 200)).join(', ')
}

/** True if a card's remote is at this URL, whose query may have more if the remote's has nothing. */
export function isRemoteAt(remote: unknown, url: URL): boolean {
  const own = URL.parse(readText(remote, 'url') ?? '')
  const isSame = own?.origin === url.origin && own.pathname.replace(/\/$/, '') === url.pathname.replace(/\/$/, '')
  return isSame && (own.search === '' || own.search === url.search)
}
