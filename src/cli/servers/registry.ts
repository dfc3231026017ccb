import { open } from 'node:fs/promises'
import type { Fetch } from '../../api/index.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readList, readMap, readText } from '../../util/plain-data.ts'
import { toOneLine } from '../../util/plain-text.ts'
import { suggestName } from '../../util/suggest.ts'

/** Registry server, with the keys of `server.json`. */
export interface RegistryEntry {
  readonly name: string
  readonly description: string
  readonly version: string
  readonly status: string
  readonly packages: readonly JsonObject[]
  readonly remotes: readonly JsonObject[]
}

/** Reverse-DNS names, restricted to unambiguous characters. */
export const REGISTRY_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,198}[A-Za-z0-9])?\/[A-Za-z0-9][A-Za-z0-9._-]{0,198}$/

const OFFICIAL_META = 'io.modelcontextprotocol.registry/official'
const MAX_ALTERNATIVES = 50

/** Parses a registry row (v0.1), a plain `server.json` or a server card. Returns undefined if it is invalid. */
export function parseRegistryEntry(row: unknown): RegistryEntry | undefined {
  const server = isObject(row) && isObject(row.server) ? row.server : row
  const name = readText(server, 'name')
  if (name === undefined || !REGISTRY_NAME.test(name)) return undefined
  const official = readMap(row, '_meta', OFFICIAL_META)
  return {
    name,
    description: toOneLine(readText(server, 'description') ?? '').slice(0, 300),
    version: readText(server, 'version') ?? '',
    status: readText(official, 'status') ?? 'active',
    packages: readList(server, 'packages').filter(isObject).slice(0, MAX_ALTERNATIVES),
    remotes: readList(server, 'remotes').filter(isObject).slice(0, MAX_ALTERNATIVES),
  }
}

/** Registry API, or a saved response. */
export type RegistrySource = { readonly file: string } | { readonly url: string }

const MAX_BYTES = 64 * 1024 * 1024
const PAGE_BYTES = 8 * 1024 * 1024
const MAX_PAGES = 20
const MAX_COUNT = 1000

export class Registry {
  readonly #source: RegistrySource
  readonly #fetch: Fetch

  constructor(source: RegistrySource, fetch: Fetch) {
    this.#source = source
    this.#fetch = fetch
  }

  /** Returns the newest version of each server whose name or description contains all words. */
  async search(words: readonly string[]): Promise<RegistryEntry[]> {
    const lowerCaseWords = words.map(word => word.toLowerCase())
    const rows =
      'file' in this.#source
        ? await readRows(this.#source.file)
        : await this.#searchRows(lowerCaseWords, this.#source.url)
    const hasAllWords = ({ name, description }: RegistryEntry): boolean => {
      const text = `${name} ${description}`.toLowerCase()
      return lowerCaseWords.every(word => text.includes(word))
    }
    return selectNewest(rows.flatMap(row => parseRegistryEntry(row) ?? []).filter(hasAllWords)).slice(0, MAX_COUNT)
  }

  /** Returns one version of a server, by default the newest. @throws GatewayError GW_REGISTRY */
  async find(name: string, version: string | undefined): Promise<RegistryEntry> {
    if ('url' in this.#source) return this.#findInRegistry(this.#source.url, name, version)
    const all = (await readRows(this.#source.file)).flatMap(row => parseRegistryEntry(row) ?? [])
    const own = all.filter(entry => entry.name === name)
    const match = version === undefined ? selectNewest(own)[0] : own.find(entry => entry.version === version)
    if (match !== undefined) return match
    const suggestion = suggestName(
      name,
      all.map(entry => entry.name),
    )
    const message =
      version === undefined || own.length === 0 ? `no server named "${name}"` : `no version ${version} of "${name}"`
    throw this.#createError(suggestion === undefined || own.length > 0 ? message : `${message} – ${suggestion}`)
  }

  async #findInRegistry(url: string, name: string, version = 'latest'): Promise<RegistryEntry> {
    const path = `v0.1/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`
    const entry = parseRegistryEntry(await this.#fetchJson(url, path))
    if (entry?.name !== name) throw this.#createError(`invalid entry for "${name}"`)
    return entry
  }

  /** The API searches names for a single text, so filter by the other words here. */
  async #searchRows([first = '']: readonly string[], url: string): Promise<unknown[]> {
    const rows: unknown[] = []
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES && rows.length < MAX_COUNT; page++) {
      const query = new URLSearchParams({
        search: first,
        version: 'latest',
        limit: '100',
        ...(cursor === undefined ? {} : { cursor }),
      })
      const reply = await this.#fetchJson(url, `v0.1/servers?${query.toString()}`)
      rows.push(...readList(reply, 'servers'))
      cursor = readText(reply, 'metadata', 'nextCursor')
      if (cursor === undefined || cursor === '') break
    }
    return rows
  }

  async #fetchJson(url: string, path: string): Promise<unknown> {
    try {
      const target = new URL(path, url.endsWith('/') ? url : `${url}/`)
      const reply = await this.#fetch(target, { namedBy: url, maxBytes: PAGE_BYTES })
      if (reply.status === 404) throw new Error('server not found')
      if (!reply.ok) throw new Error(`HTTP ${reply.status}`)
      return await reply.json()
    } catch (error) {
      throw this.#createError(getErrorMessage(error))
    }
  }

  #createError(reason: string): Error {
    return gatewayError('GW_REGISTRY', {
      registry: 'file' in this.#source ? this.#source.file : this.#source.url,
      why: reason,
    })
  }
}

/** Reads an API page, a list, or a single server from a file. */
async function readRows(file: string): Promise<unknown[]> {
  try {
    const handle = await open(file, 'r')
    try {
      const stats = await handle.stat()
      if (!stats.isFile() || stats.size > MAX_BYTES) throw new Error(`not a file of at most ${MAX_BYTES} bytes`)
      const data = JSON.parse(await handle.readFile('utf8')) as unknown
      const servers = Array.isArray(data) ? (data as unknown[]) : [...readList(data, 'servers')]
      return servers.length > 0 ? servers : [data]
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw gatewayError('GW_REGISTRY', { registry: file, why: getErrorMessage(error) })
  }
}

/** Keeps each server's highest version. */
function selectNewest(entries: readonly RegistryEntry[]): RegistryEntry[] {
  const best = new Map<string, RegistryEntry>()
  for (const entry of entries) {
    const previous = best.get(entry.name)
    if (previous === undefined || isNewer(entry.version, previous.version)) best.set(entry.name, entry)
  }
  return [...best.values()]
}

function isNewer(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) > 0
}
