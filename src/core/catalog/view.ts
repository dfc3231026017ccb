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

/** Classes of readers for whom one view is kept in their form; the form of others is made each time. */
const MAX_CLASSES = 32
/** Longest key of a class, so that a client cannot fill the memory with its name. */
const MAX_KEY = 256

/** A view in the form that readers of one class are shown. */
interface ListedView {
  readonly view: View
  /** Entries of the view by the names that are shown in place of their own. */
  readonly real: ReadonlyMap<string, CatalogEntry>
}

/** Entry that a tap wanted to show, and why it is not. */
export interface RejectedListing {
  readonly entry: CatalogEntry
  readonly why: string
}

/** Outcome of the taps for a view: the entries to show, and those that cannot be shown so. */
interface CheckedListing {
  readonly entries: readonly CatalogEntry[]
  readonly real: ReadonlyMap<string, CatalogEntry>
  readonly unshown: readonly RejectedListing[]
}

/** A list as its reader is shown it, and before it the forms that it had on the way. */
type ListingForms = readonly [shown: readonly CatalogEntry[], ...before: (readonly CatalogEntry[])[]]

/** Applies `listing` taps to views. Calls use the view itself. */
export class Listings {
  readonly #hooks: Hooks
  readonly #report: (unshown: RejectedListing) => void
  #taps: readonly { readonly run: HookTaps['listing'] }[] | undefined
  readonly #shown = new WeakMap<View, BoundedMap<string, ListedView>>()

  constructor(hooks: Hooks, report: (unshown: RejectedListing) => void) {
    this.#hooks = hooks
    this.#report = report
  }

  /** True if any plugin decides what readers are shown. */
  get isTapped(): boolean {
    return this.#hooks.getRunner('listing') !== undefined
  }

  /** Returns the view as this client sees it; the same object if no tap changes it. */
  getListedView(view: View, session: Session): ListedView {
    if (!this.isTapped) return withoutListing(view)
    const reader = createReader(view.kind, session)
    const key = this.#getReaderClass(reader)
    let forms = this.#shown.get(view)
    if (forms === undefined)
      this.#shown.set(view, (forms = new BoundedMap<string, ListedView>({ max: MAX_CLASSES })))
    const known = forms.use(key)
    if (known !== undefined) return known
    const made = this.#makeListedView(view, this.#computeForms(view, reader))
    forms.set(key, made)
    return made
  }

  /** Key of all who are shown the same lists: viewers of one kind, with programs of one class. */
  getReaderKey(session: Session): string {
    if (!this.isTapped) return viewerKey(session)
    return JSON.stringify([
      viewerKey(session),
      ...KINDS.map(kind => this.#getReaderClass(createReader(kind, session))),
    ])
  }

  /** The list as each tap made it of the one before, the last first. */
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
    if (forms[0] === view.entries) return withoutListing(view)
    const { entries, real, unshown } = checkListing(view, forms)
    for (const one of unshown) this.#report(one)
    if (isSame(view.entries, entries)) return withoutListing(view)
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
function checkListing(view: View, [wanted, ...before]: ListingForms): CheckedListing {
  const entries: CatalogEntry[] = []
  const unshown: RejectedListing[] = []
  const real = new Map<string, CatalogEntry>()
  const taken = new Set<string>()
  for (const entry of wanted) {
    const own = entry.upstream === '' ? entry : view.findSource(entry)
    const why = own === undefined ? 'no list has it' : findListingProblem(view, entry, own, taken)
    if (own === undefined || why !== undefined) {
      unshown.push({ entry, why: why ?? '' })
      continue
    }
    taken.add(entry.exposed)
    entries.push(entry)
    if (entry.exposed !== own.exposed) real.set(entry.exposed, own)
  }
  addUnlisted(view, before, taken, real)
  return { entries, real, unshown }
}

/** Adds what taps left out of the list, by the names that it had there: another tool, such as a search, may have told them. */
function addUnlisted(
  view: View,
  before: readonly (readonly CatalogEntry[])[],
  taken: ReadonlySet<string>,
  real: Map<string, CatalogEntry>,
): void {
  for (const { exposed, upstream, ...entry } of before.flat()) {
    if (upstream === '' || taken.has(exposed) || real.has(exposed) || view.findByName(exposed) !== undefined)
      continue
    const own = view.findSource({ exposed, upstream, ...entry })
    if (own !== undefined) real.set(exposed, own)
  }
}

function findListingProblem(
  view: View,
  entry: CatalogEntry,
  own: CatalogEntry,
  taken: ReadonlySet<string>,
): string | undefined {
  if (taken.has(entry.exposed)) return 'another one is shown under this name'
  if (entry.upstream === '' && view.findByName(entry.exposed) !== undefined)
    return 'the name is the real one of another'
  if (entry.exposed === own.exposed) return undefined
  if (entry.kind !== 'tools' && entry.kind !== 'prompts') return 'a URI cannot be shown as another one'
  return view.findByName(entry.exposed) === undefined ? undefined : 'the name is the real one of another'
}

function isSame(before: readonly CatalogEntry[], after: readonly CatalogEntry[]): boolean {
  return before.length === after.length && before.every((entry, index) => entry === after[index])
}

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

interface ViewOptions {
  readonly kind: Kind
  readonly entries: readonly CatalogEntry[]
  readonly freshness: Freshness
  /** Upstreams whose part is the one that was known last. */
  readonly stale: readonly string[]
  readonly pageSize: number
  readonly serverInfo: JsonObject
  readonly cursor: (offset: number) => string
  /** The parameters of a tool that travel in headers too; undefined when its annotations are invalid. */
  readonly getHeaderParams: (entry: CatalogEntry) => readonly ParamHeader[] | undefined
}

/** A page as it was written, and as it goes out now. */
interface CachedPage {
  readonly bare: Payload
  dated: Payload
  ttlMs: number
}

const SECOND_MS = 1000

/** One principal's list of one kind: its entries, the index by name, and the pages as they go out. */
export class View {
  readonly kind: Kind
  readonly entries: readonly CatalogEntry[]
  /** Entries that taps withhold: on no page, but a request by name gets the reason. */
  readonly refused: readonly CatalogEntry[]
  readonly withheld: readonly Withheld[]
  readonly #index = new Map<string, CatalogEntry>()
  /** By upstream, then by the name it has there. */
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
      // A server may list a resource under two spellings, but not one of somebody else's.
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

  /** The entry of this view that another one was made of; undefined if it was made of none. */
  findSource(made: CatalogEntry): CatalogEntry | undefined {
    const own = this.#index.get(made.exposed)
    const isIt = own?.upstream === made.upstream && own.original === made.original
    return isIt ? own : this.findByOriginal(made.upstream, made.original)
  }

  /** The same view, with these entries on its pages. A cache that many share must not give it to readers of another kind. */
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

  /** Tools whose header annotations are invalid: clients of modern HTTP must not see them. */
  listUnfitTools(): readonly CatalogEntry[] {
    this.#unfit ??=
      this.kind === 'tools'
        ? this.entries.filter(entry => this.#init.getHeaderParams(entry) === undefined)
        : []
    return this.#unfit
  }

  /** The page from `offset` on at this time, written once per form and kept; the time it has left is put in. */
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

  /** In coarse steps, so that a page is not written anew for each who asks; never more than is left. */
  #withRemainingTtl(page: CachedPage, now: number): Payload {
    const left = this.#init.freshness.ttlMs(now)
    const ttlMs = left - (left % (left < SECOND_MS ? SECOND_MS / 10 : SECOND_MS))
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
