import type { CatalogEntry } from '../../api/catalog-entry.ts'
import { getLookupKey } from '../../api/catalog-entry.ts'
import type { ListingReader } from '../../api/catalog-view.ts'
import type { Session } from '../../api/index.ts'
import { viewerKey } from '../../api/principal.ts'
import { toTapError } from '../../hooks/tap-guard.ts'
import type { HookTaps } from '../../hooks/hook-taps.ts'
import type { Hooks } from '../../hooks/hooks.ts'
import type { ListForm } from '../../protocol/era/adapt-entry.ts'
import { adaptEntry } from '../../protocol/era/adapt-entry.ts'
import type { ParamHeader } from '../../protocol/headers.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { Era, Kind } from '../../protocol/methods.ts'
import { KINDS, LISTS, META } from '../../protocol/methods.ts'
import { Payload } from '../../protocol/payload.ts'
import { parseCanonicalUri } from '../../protocol/uri.ts'
import { BoundedMap } from '../../util/bounded-map.ts'

/** Reader classes whose form of a view is cached; other forms are computed each time. */
const MAX_CLASSES = 32
/** Maximum length of a class key, as clients choose their names. */
const MAX_KEY = 256

/** A view as shown to one reader class. */
interface ListedView {
  readonly view: View
  /** Real entries by the names shown in their place. */
  readonly real: ReadonlyMap<string, CatalogEntry>
}

/** Entry that a `listing` tap produced and the gateway rejected, with the reason. */
export interface RejectedListing {
  readonly entry: CatalogEntry
  readonly why: string
}

/** Tap results for one view: the entries to show, and the rejected ones. */
interface CheckedListing {
  readonly entries: readonly CatalogEntry[]
  readonly real: ReadonlyMap<string, CatalogEntry>
  readonly unshown: readonly RejectedListing[]
}

/** The final list, and before it the intermediate forms that taps received. */
type ListingForms = readonly [shown: readonly CatalogEntry[], ...before: (readonly CatalogEntry[])[]]

/** Applies `listing` taps to views. Calls use the view itself. */
export class Listings {
  readonly #hooks: Hooks
  readonly #report: (unshown: RejectedListing) => void
  #taps: readonly { readonly run: HookTaps['listing'] }[] | undefined
  readonly #listedViews = new WeakMap<View, BoundedMap<string, ListedView>>()

  constructor(hooks: Hooks, report: (unshown: RejectedListing) => void) {
    this.#hooks = hooks
    this.#report = report
  }

  /** True if a plugin taps `listing`. */
  get isTapped(): boolean {
    return this.#hooks.getRunner('listing') !== undefined
  }

  /** Returns the view as this client sees it; the same object if no tap changes it. */
  getListedView(view: View, session: Session): ListedView {
    if (!this.isTapped) return withoutListing(view)
    const reader = createReader(view.kind, session)
    const key = this.#getReaderClass(reader)
    let forms = this.#listedViews.get(view)
    if (forms === undefined)
      this.#listedViews.set(view, (forms = new BoundedMap<string, ListedView>({ max: MAX_CLASSES })))
    const cached = forms.use(key)
    if (cached !== undefined) return cached
    const made = this.#makeListedView(view, this.#computeForms(view, reader))
    forms.set(key, made)
    return made
  }

  /** Returns a key shared by viewers of one kind with client programs of one class. */
  getReaderKey(session: Session): string {
    if (!this.isTapped) return viewerKey(session)
    return JSON.stringify([viewerKey(session), ...KINDS.map(kind => this.#getReaderClass(createReader(kind, session)))])
  }

  /** Runs the taps in order; returns the results with the last first. */
  #computeForms(view: View, reader: ListingReader): ListingForms {
    let list = view.entries
    const before: (readonly CatalogEntry[])[] = []
    this.#taps ??= this.#hooks.listTaps('listing')
    for (const { run } of this.#taps) {
      const made = run(list, reader) ?? list
      if (made !== list) before.unshift(list)
      list = made
    }
    return [list, ...before]
  }

  #makeListedView(view: View, forms: ListingForms): ListedView {
    if (forms.length === 1) return withoutListing(view)
    const { entries, real, unshown } = checkListing(view, forms)
    for (const one of unshown) this.#report(one)
    if (isSame(view.entries, entries)) return { view, real }
    return { view: view.withEntries(entries), real }
  }

  #getReaderClass(reader: ListingReader): string {
    return JSON.stringify(
      this.#hooks.taps('listing').map(({ plugin, options }) => classifyReader(plugin, options, reader)),
    )
  }
}

function classifyReader(
  plugin: string,
  { readers }: { readonly readers?: (reader: ListingReader) => string },
  reader: ListingReader,
): string {
  try {
    const key = readers?.(reader) ?? ''
    if (typeof key === 'string' && key.length <= MAX_KEY) return key
    throw new TypeError(`"readers" must return a string of at most ${MAX_KEY} characters`)
  } catch (error) {
    throw toTapError({ plugin, hook: 'listing' }, error)
  }
}

function withoutListing(view: View): ListedView {
  return { view, real: NO_RENAMES }
}

const NO_RENAMES: ReadonlyMap<string, CatalogEntry> = new Map()

function createReader(kind: Kind, { principal, profile, client, choices }: Session): ListingReader {
  const { info, capabilities, era } = client
  return { kind, principal, profile, client: info, capabilities, era, choices }
}

/** A shown name must resolve to one entry, and must not shadow another entry's name. */
function checkListing(view: View, [requested, ...before]: ListingForms): CheckedListing {
  const entries: CatalogEntry[] = []
  const unshown: RejectedListing[] = []
  const real = new Map<string, CatalogEntry>()
  const usedNames = new Set<string>()
  for (const entry of requested) {
    const own = entry.upstream === '' ? entry : view.findSource(entry)
    const why = own === undefined ? 'unknown entry' : findListingProblem(view, entry, own, usedNames)
    if (own === undefined || why !== undefined) {
      unshown.push({ entry, why: why ?? '' })
      continue
    }
    usedNames.add(entry.exposed)
    entries.push(entry)
    if (entry.exposed !== own.exposed) real.set(entry.exposed, own)
  }
  addUnlisted(view, before, usedNames, real)
  return { entries, real, unshown }
}

/**
 * Adds entries that taps removed, under their names at that point: another tool, such as a search, may have returned
 * them.
 */
function addUnlisted(
  view: View,
  before: readonly (readonly CatalogEntry[])[],
  usedNames: ReadonlySet<string>,
  real: Map<string, CatalogEntry>,
): void {
  for (const { exposed, upstream, ...entry } of before.flat()) {
    if (upstream === '' || usedNames.has(exposed) || real.has(exposed) || view.findByName(exposed) !== undefined)
      continue
    const own = view.findSource({ exposed, upstream, ...entry })
    if (own !== undefined) real.set(exposed, own)
  }
}

function findListingProblem(
  view: View,
  entry: CatalogEntry,
  own: CatalogEntry,
  usedNames: ReadonlySet<string>,
): string | undefined {
  if (usedNames.has(entry.exposed)) return 'the name is already used in this list'
  if (entry.upstream === '' && view.findByName(entry.exposed) !== undefined) return 'the name belongs to another entry'
  if (entry.exposed === own.exposed) return undefined
  if (entry.kind !== 'tools' && entry.kind !== 'prompts') return 'a URI cannot be renamed'
  return view.findByName(entry.exposed) === undefined ? undefined : 'the name belongs to another entry'
}

function isSame(before: readonly CatalogEntry[], after: readonly CatalogEntry[]): boolean {
  return before.length === after.length && before.every((entry, index) => entry === after[index])
}

/** Key in a list's `_meta`: names of upstreams whose part may be out of date. */
const STALE = 'io.tapgate/stale'

/** Entry withheld because another upstream owns its name. */
interface Withheld {
  readonly entry: CatalogEntry
  readonly owner: string
}

/** Lifetime and scope of a cached list (2026-07-28, caching). */
export interface Freshness {
  /** Remaining milliseconds at a given clock time. */
  readonly ttlMs: (now: number) => number
  readonly cacheScope: 'public' | 'private'
}

interface ViewOptions {
  readonly kind: Kind
  readonly entries: readonly CatalogEntry[]
  readonly freshness: Freshness
  /** Upstreams with a stale part. */
  readonly stale: readonly string[]
  readonly pageSize: number
  readonly serverInfo: JsonObject
  readonly cursor: (offset: number) => string
  /** Parameters of a tool that are also sent as headers; undefined if its annotations are invalid. */
  readonly getHeaderParams: (entry: CatalogEntry) => readonly ParamHeader[] | undefined
}

/** A serialized page, and its form with the current lifetime. */
interface CachedPage {
  readonly bare: Payload
  dated: Payload
  ttlMs: number
}

const SECOND_MS = 1000

/** One principal's list of one kind: its entries, an index by name, and serialized pages. */
export class View {
  readonly kind: Kind
  readonly entries: readonly CatalogEntry[]
  /** Entries that taps withhold: not listed, but a request by name returns the reason. */
  readonly refused: readonly CatalogEntry[]
  readonly withheld: readonly Withheld[]
  readonly #index = new Map<string, CatalogEntry>()
  /** Entries by upstream, then by original name. */
  readonly #byOriginal = new Map<string, Map<string, CatalogEntry>>()
  readonly #pages = new Map<string, CachedPage>()
  #unfit: readonly CatalogEntry[] | undefined
  readonly #init: ViewOptions

  constructor(init: ViewOptions) {
    this.kind = init.kind
    this.#init = init
    const entries: CatalogEntry[] = []
    const refused: CatalogEntry[] = []
    const withheld: Withheld[] = []
    for (const entry of init.entries) {
      const name = getLookupKey(entry)
      const owner = this.#index.get(entry.exposed) ?? this.#index.get(name)
      // A server may list a resource under two spellings, but no other server's resource.
      if (owner !== undefined && (owner.upstream !== entry.upstream || owner.exposed === entry.exposed)) {
        withheld.push({ entry, owner: owner.upstream })
        continue
      }
      if (entry.refusal === undefined) entries.push(entry)
      else refused.push(entry)
      this.#index.set(entry.exposed, entry)
      if (owner === undefined) this.#index.set(name, entry)
      this.#addOriginal(entry)
    }
    this.entries = entries
    this.refused = refused
    this.withheld = withheld
  }

  findByName(exposed: string): CatalogEntry | undefined {
    return this.#index.get(exposed)
  }

  findByOriginal(upstream: string, original: string): CatalogEntry | undefined {
    return this.#byOriginal.get(upstream)?.get(original)
  }

  /** Finds the entry that another was derived from; undefined if none. */
  findSource(made: CatalogEntry): CatalogEntry | undefined {
    const own = this.#index.get(made.exposed)
    const isIt = own?.upstream === made.upstream && own.original === made.original
    return isIt ? own : this.findByOriginal(made.upstream, made.original)
  }

  /**
   * Returns the same view with these entries on its pages. A shared cache must not serve it to readers of another
   * class.
   */
  withEntries(entries: readonly CatalogEntry[]): View {
    const { freshness, ...init } = this.#init
    return new View({ ...init, entries, freshness: { ...freshness, cacheScope: 'private' } })
  }

  #addOriginal(entry: CatalogEntry): void {
    let names = this.#byOriginal.get(entry.upstream)
    if (names === undefined) this.#byOriginal.set(entry.upstream, (names = new Map<string, CatalogEntry>()))
    names.set(entry.original, entry)
    const name = entry.kind === 'resources' ? parseCanonicalUri(entry.original) : undefined
    if (name !== undefined && !names.has(name)) names.set(name, entry)
  }

  /** Tools with invalid header annotations: clients of modern HTTP must not see them. */
  listUnfitTools(): readonly CatalogEntry[] {
    this.#unfit ??=
      this.kind === 'tools' ? this.entries.filter(entry => this.#init.getHeaderParams(entry) === undefined) : []
    return this.#unfit
  }

  /** Returns the page at `offset` with its current lifetime; it is serialized once per form. */
  page(offset: number, form: ListForm, now: number, without: readonly CatalogEntry[] = []): Payload {
    const key = `${form}:${without.length}:${offset}`
    let page = this.#pages.get(key)
    if (page === undefined) {
      const bare = this.#writePage(offset, form, without)
      page = { bare, dated: bare, ttlMs: 0 }
      this.#pages.set(key, page)
    }
    return form === 'modern' ? this.#withRemainingTtl(page, now) : page.bare
  }

  /** Rounds the lifetime down to coarse steps, so that a page is not serialized for each request. */
  #withRemainingTtl(page: CachedPage, now: number): Payload {
    const remainingMs = this.#init.freshness.ttlMs(now)
    const ttlMs = remainingMs - (remainingMs % (remainingMs < SECOND_MS ? SECOND_MS / 10 : SECOND_MS))
    if (page.ttlMs !== ttlMs) {
      page.dated = ttlMs === 0 ? page.bare : page.bare.edit(['ttlMs'], { ttlMs })
      page.ttlMs = ttlMs
    }
    return page.dated
  }

  #writePage(offset: number, form: ListForm, without: readonly CatalogEntry[]): Payload {
    const { kind, pageSize, cursor, freshness, serverInfo, stale } = this.#init
    const { member, key } = LISTS[kind]
    const era: Era = form === 'modern' ? 'modern' : 'legacy'
    const end = offset + pageSize
    const list = this.entries
      .slice(offset, end)
      .filter(entry => !without.includes(entry))
      .map(entry => adaptEntry(kind, withExposedName(entry, key), form))
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

function withExposedName(entry: CatalogEntry, key: string): JsonObject {
  return entry.value[key] === entry.exposed ? entry.value : { ...entry.value, [key]: entry.exposed }
}
