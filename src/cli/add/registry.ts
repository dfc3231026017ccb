import { open } from 'node:fs/promises'
import type { Fetch } from '../../api/index.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readList, readMap, readText } from '../../util/plain-data.ts'
import { toOneLine } from '../../util/plain-text.ts'
import { suggestName } from '../../util/suggest.ts'

/** One server of a registry, in the words of its `server.json`. */
interface RegistryEntry {
  readonly name: string
  readonly description: string
  readonly version: string
  readonly status: string
  readonly packages: readonly JsonObject[]
  readonly remotes: readonly JsonObject[]
}

/** Names of the reverse DNS form, in letters that look like no others. */
export const REGISTRY_NAME =
  /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,198}[A-Za-z0-9])?\/[A-Za-z0-9][A-Za-z0-9._-]{0,198}$/

const OFFICIAL_META = 'io.modelcontextprotocol.registry/official'
const MAX_ALTERNATIVES = 50

/** Reads one row of a registry (v0.1), or a `server.json` alone; undefined where it is none. */
function parseRegistryEntry(row: unknown): RegistryEntry | undefined {
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

/** A registry: its API, or a file that holds what the API would say. */
export type RegistrySource = { readonly file: string } | { readonly url: string }

const MAX_BYTES = 64 * 1024 * 1024
const PAGE_BYTES = 8 * 1024 * 1024
const MAX_PAGES = 20
const MAX_COUNT = 1000

/** Looks servers up. */
export class Registry {
  readonly #place: RegistrySource
  readonly #fetch: Fetch

  constructor(place: RegistrySource, fetch: Fetch) {
    this.#place = place
    this.#fetch = fetch
  }

  /** Servers of which a name or description has all of the words, the newest version of each. */
  async search(words: readonly string[]): Promise<RegistryEntry[]> {
    const wanted = words.map(word => word.toLowerCase())
    const rows =
      'file' in this.#place
        ? await readRows(this.#place.file)
        : await this.#searchRows(wanted, this.#place.url)
    const hasAllWords = ({ name, description }: RegistryEntry): boolean => {
      const text = `${name} ${description}`.toLowerCase()
      return wanted.every(word => text.includes(word))
    }
    return selectNewest(rows.flatMap(row => parseRegistryEntry(row) ?? []).filter(hasAllWords)).slice(
      0,
      MAX_COUNT,
    )
  }

  /** One server, of a version or the newest. @throws GatewayError GW_REGISTRY */
  async find(name: string, version: string | undefined): Promise<RegistryEntry> {
    if ('url' in this.#place) return this.#findInRegistry(this.#place.url, name, version)
    const all = (await readRows(this.#place.file)).flatMap(row => parseRegistryEntry(row) ?? [])
    const own = all.filter(entry => entry.name === name)
    const found = version === undefined ? selectNewest(own)[0] : own.find(entry => entry.version === version)
    if (found !== undefined) return found
    const meant = suggestName(
      name,
      all.map(entry => entry.name),
    )
    const what =
      version === undefined || own.length === 0
        ? `it has no server "${name}"`
        : `it has no version ${version} of "${name}"`
    throw this.#createError(meant === undefined || own.length > 0 ? what : `${what} – ${meant}`)
  }

  async #findInRegistry(url: string, name: string, version = 'latest'): Promise<RegistryEntry> {
    const path = `v0.1/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`
    const entry = parseRegistryEntry(await this.#fetchJson(url, path))
    if (entry?.name !== name) throw this.#createError(`it says nothing of "${name}"`)
    return entry
  }

  /** The API searches names for one text; the other words are looked for here. */
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
      if (reply.status === 404) throw new Error('there is no such server')
      if (!reply.ok) throw new Error(`HTTP ${reply.status}`)
      return await reply.json()
    } catch (error) {
      throw this.#createError(getErrorMessage(error))
    }
  }

  #createError(why: string): Error {
    return gatewayError('GW_REGISTRY', {
      registry: 'file' in this.#place ? this.#place.file : this.#place.url,
      why,
    })
  }
}

/** The rows of a file: a page of the API, a list, or one server. */
async function readRows(file: string): Promise<unknown[]> {
  try {
    const handle = await open(file, 'r')
    try {
      const found = await handle.stat()
      if (!found.isFile() || found.size > MAX_BYTES)
        throw new Error(`it is no file of at most ${MAX_BYTES} bytes`)
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

/** The highest version of each server. */
function selectNewest(entries: readonly RegistryEntry[]): RegistryEntry[] {
  const best = new Map<string, RegistryEntry>()
  for (const entry of entries) {
    const known = best.get(entry.name)
    if (known === undefined || isNewer(entry.version, known.version)) best.set(entry.name, entry)
  }
  return [...best.values()]
}

function isNewer(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) > 0
}
