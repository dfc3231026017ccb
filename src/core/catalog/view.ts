import { entryFor, type ListForm } from '../../protocol/era/entries.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { LISTS, META, type Kind } from '../../protocol/methods.ts'
import { Payload } from '../../protocol/payload.ts'
import { canonicalUri } from '../../protocol/uri.ts'
import type { Era } from '../../protocol/versions.ts'
import type { ParamHeader } from '../../protocol/headers.ts'
import { lookupName, type CatalogEntry } from '../../api/catalog-entry.ts'

/** Key in the `_meta` of a list: names of upstreams whose part may be out of date. */
const STALE = 'io.tapgate/stale'

/** Entry that is withheld because another upstream owns its name. */
interface Withheld {
  readonly entry: CatalogEntry
  readonly owner: string
}

/** Time that a list may be kept, and by whom (2026-07-28, caching). */
export interface Freshness {
  /** Milliseconds left at this time of the clock. */
  readonly ttlMs: (now: number) => number
  readonly cacheScope: 'public' | 'private'
}

interface ViewInit {
  readonly kind: Kind
  readonly entries: readonly CatalogEntry[]
  readonly freshness: Freshness
  /** Upstreams whose part is the one that was known last. */
  readonly stale: readonly string[]
  readonly pageSize: number
  readonly serverInfo: JsonObject
  readonly cursor: (offset: number) => string
  /** The parameters of a tool that travel in headers too; undefined when its annotations are invalid. */
  readonly mirrors: (entry: CatalogEntry) => readonly ParamHeader[] | undefined
}

/** A page as it was written, and as it goes out now. */
interface Page {
  readonly bare: Payload
  dated: Payload
  ttlMs: number
}

const SECOND_MS = 1000

/** One principal's list of one kind: its entries, the index by name, and the pages as they go out. */
export class View {
  readonly kind: Kind
  readonly entries: readonly CatalogEntry[]
  /** Entries that taps withhold: no page has them, but whoever asks for one by its name is told why. */
  readonly refused: readonly CatalogEntry[]
  readonly withheld: readonly Withheld[]
  readonly #index = new Map<string, CatalogEntry>()
  /** By upstream, then by the name it has there. */
  readonly #byOriginal = new Map<string, Map<string, CatalogEntry>>()
  readonly #pages = new Map<string, Page>()
  #unfit: readonly CatalogEntry[] | undefined
  readonly #init: ViewInit

  constructor(init: ViewInit) {
    this.kind = init.kind
    this.#init = init
    const entries: CatalogEntry[] = []
    const refused: CatalogEntry[] = []
    const withheld: Withheld[] = []
    for (const entry of init.entries) {
      const name = lookupName(entry)
      const owner = this.#index.get(entry.exposed) ?? this.#index.get(name)
      // A server may list a resource under two spellings, but not one of somebody else's.
      if (owner !== undefined && (owner.upstream !== entry.upstream || owner.exposed === entry.exposed)) {
        withheld.push({ entry, owner: owner.upstream })
        continue
      }
      if (entry.refusal === undefined) entries.push(entry)
      else refused.push(entry)
      this.#index.set(entry.exposed, entry)
      if (owner === undefined) this.#index.set(name, entry)
      this.#indexOriginal(entry)
    }
    this.entries = entries
    this.refused = refused
    this.withheld = withheld
  }

  find(exposed: string): CatalogEntry | undefined {
    return this.#index.get(exposed)
  }

  findOriginal(upstream: string, original: string): CatalogEntry | undefined {
    return this.#byOriginal.get(upstream)?.get(original)
  }

  /** The entry of this view that another one was made of; undefined if it was made of none. */
  entryOf(made: CatalogEntry): CatalogEntry | undefined {
    const own = this.#index.get(made.exposed)
    const isIt = own?.upstream === made.upstream && own.original === made.original
    return isIt ? own : this.findOriginal(made.upstream, made.original)
  }

  /** The same view, with these entries on its pages. A cache that many share must not give it to readers of another kind. */
  showing(entries: readonly CatalogEntry[]): View {
    const { freshness, ...init } = this.#init
    return new View({ ...init, entries, freshness: { ...freshness, cacheScope: 'private' } })
  }

  #indexOriginal(entry: CatalogEntry): void {
    let names = this.#byOriginal.get(entry.upstream)
    if (names === undefined) this.#byOriginal.set(entry.upstream, (names = new Map<string, CatalogEntry>()))
    names.set(entry.original, entry)
    const name = entry.kind === 'resources' ? canonicalUri(entry.original) : undefined
    if (name !== undefined && !names.has(name)) names.set(name, entry)
  }

  /** Tools whose header annotations are invalid: clients of modern HTTP must not see them. */
  unfit(): readonly CatalogEntry[] {
    this.#unfit ??=
      this.kind === 'tools' ? this.entries.filter(entry => this.#init.mirrors(entry) === undefined) : []
    return this.#unfit
  }

  /** The page from `offset` on at this time, written once per form and kept; the time it has left is put in. */
  page(offset: number, form: ListForm, now: number, without: readonly CatalogEntry[] = []): Payload {
    const key = `${form}:${without.length}:${offset}`
    let page = this.#pages.get(key)
    if (page === undefined) {
      const bare = this.#write(offset, form, without)
      page = { bare, dated: bare, ttlMs: 0 }
      this.#pages.set(key, page)
    }
    return form === 'modern' ? this.#dated(page, now) : page.bare
  }

  /** In coarse steps, so that a page is not written anew for each who asks; never more than is left. */
  #dated(page: Page, now: number): Payload {
    const left = this.#init.freshness.ttlMs(now)
    const ttlMs = left - (left % (left < SECOND_MS ? SECOND_MS / 10 : SECOND_MS))
    if (page.ttlMs !== ttlMs) {
      page.dated = ttlMs === 0 ? page.bare : page.bare.edited(['ttlMs'], { ttlMs })
      page.ttlMs = ttlMs
    }
    return page.dated
  }

  #write(offset: number, form: ListForm, without: readonly CatalogEntry[]): Payload {
    const { kind, pageSize, cursor, freshness, serverInfo, stale } = this.#init
    const { member, key } = LISTS[kind]
    const era: Era = form === 'modern' ? 'modern' : 'legacy'
    const end = offset + pageSize
    const list = this.entries
      .slice(offset, end)
      .filter(entry => !without.includes(entry))
      .map(entry => entryFor(kind, named(entry, key), form))
    const result: JsonObject = { [member]: list }
    if (end < this.entries.length) result.nextCursor = cursor(end)
    const mark = stale.length === 0 ? undefined : { [STALE]: stale }
    if (mark !== undefined) result._meta = mark
    if (era === 'modern')
      Object.assign(result, {
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: freshness.cacheScope,
        _meta: { [META.serverInfo]: serverInfo, ...mark },
      })
    return Payload.of(result, era)
  }
}

function named(entry: CatalogEntry, key: string): JsonObject {
  return entry.value[key] === entry.exposed ? entry.value : { ...entry.value, [key]: entry.exposed }
}
