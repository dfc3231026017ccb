import type { CatalogEntry } from '../../api/catalog-entry.ts'
import type { ListingReader } from '../../api/catalog-view.ts'
import type { Session } from '../../api/index.ts'
import { viewerKey } from '../../api/principal.ts'
import { failed } from '../../hooks/guard.ts'
import type { HookTaps } from '../../hooks/hook-taps.ts'
import type { Hooks } from '../../hooks/hooks.ts'
import { type Kind, KINDS } from '../../protocol/methods.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { View } from './view.ts'

/** Classes of readers for whom one view is kept in their form; the form of others is made each time. */
const MAX_CLASSES = 32
/** Longest key of a class, so that a client cannot fill the memory with its name. */
const MAX_KEY = 256

/** A view in the form that readers of one class are shown. */
interface Shown {
  readonly view: View
  /** Entries of the view by the names that are shown in place of their own. */
  readonly real: ReadonlyMap<string, CatalogEntry>
}

/** Entry that a tap wanted to show, and why it is not. */
export interface Unshown {
  readonly entry: CatalogEntry
  readonly why: string
}

/** Outcome of the taps for a view: the entries to show, and those that cannot be shown so. */
interface Checked {
  readonly entries: readonly CatalogEntry[]
  readonly real: ReadonlyMap<string, CatalogEntry>
  readonly unshown: readonly Unshown[]
}

/** A list as its reader is shown it, and before it the forms that it had on the way. */
type Forms = readonly [shown: readonly CatalogEntry[], ...before: (readonly CatalogEntry[])[]]

/** Shows views to readers as the `listing` taps want. What is called, and how, stays the matter of the view itself. */
export class Listings {
  readonly #hooks: Hooks
  readonly #report: (unshown: Unshown) => void
  #taps: readonly { readonly run: HookTaps['listing'] }[] | undefined
  readonly #shown = new WeakMap<View, BoundedMap<string, Shown>>()

  constructor(hooks: Hooks, report: (unshown: Unshown) => void) {
    this.#hooks = hooks
    this.#report = report
  }

  /** True if any plugin decides what readers are shown. */
  get isTapped(): boolean {
    return this.#hooks.runner('listing') !== undefined
  }

  /** The view as this session's client is shown it: the very same where no tap changes it. */
  shown(view: View, session: Session): Shown {
    if (!this.isTapped) return asItIs(view)
    const reader = readerOf(view.kind, session)
    const key = this.#classOf(reader)
    let forms = this.#shown.get(view)
    if (forms === undefined)
      this.#shown.set(view, (forms = new BoundedMap<string, Shown>({ max: MAX_CLASSES })))
    const known = forms.use(key)
    if (known !== undefined) return known
    const made = this.#make(view, this.#forms(view, reader))
    forms.set(key, made)
    return made
  }

  /** Key of all who are shown the same lists: viewers of one kind, with programs of one class. */
  readerKey(session: Session): string {
    if (!this.isTapped) return viewerKey(session)
    return JSON.stringify([viewerKey(session), ...KINDS.map(kind => this.#classOf(readerOf(kind, session)))])
  }

  /** The list as each tap made it of the one before, the last first. */
  #forms(view: View, reader: ListingReader): Forms {
    let list = view.entries
    const before: (readonly CatalogEntry[])[] = []
    this.#taps ??= this.#hooks.each('listing')
    for (const { run } of this.#taps) {
      const made = run(list, reader) ?? list
      if (made !== list) before.unshift(list)
      list = made
    }
    return [list, ...before]
  }

  #make(view: View, forms: Forms): Shown {
    if (forms[0] === view.entries) return asItIs(view)
    const { entries, real, unshown } = check(view, forms)
    for (const one of unshown) this.#report(one)
    if (isSame(view.entries, entries)) return asItIs(view)
    return { view: view.showing(entries), real }
  }

  #classOf(reader: ListingReader): string {
    return JSON.stringify(
      this.#hooks.taps('listing').map(({ plugin, options }) => classOf(plugin, options, reader)),
    )
  }
}

function classOf(
  plugin: string,
  { readers }: { readonly readers?: (reader: ListingReader) => string },
  reader: ListingReader,
): string {
  try {
    const key = readers?.(reader) ?? ''
    if (typeof key === 'string' && key.length <= MAX_KEY) return key
    throw new TypeError(`"readers" must return a string of at most ${MAX_KEY} characters`)
  } catch (error) {
    throw failed({ plugin, hook: 'listing' }, error)
  }
}

function asItIs(view: View): Shown {
  return { view, real: NOTHING }
}

const NOTHING: ReadonlyMap<string, CatalogEntry> = new Map()

function readerOf(kind: Kind, { principal, profile, client, choices }: Session): ListingReader {
  const { info, capabilities, era } = client
  return { kind, principal, profile, client: info, capabilities, era, choices }
}

/** A name that is shown leads to one thing, and never away from the thing that has the name. */
function check(view: View, [wanted, ...before]: Forms): Checked {
  const entries: CatalogEntry[] = []
  const unshown: Unshown[] = []
  const real = new Map<string, CatalogEntry>()
  const taken = new Set<string>()
  for (const entry of wanted) {
    const own = entry.upstream === '' ? entry : view.entryOf(entry)
    const why = own === undefined ? 'no list has it' : problem(view, entry, own, taken)
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
    if (upstream === '' || taken.has(exposed) || real.has(exposed) || view.find(exposed) !== undefined)
      continue
    const own = view.entryOf({ exposed, upstream, ...entry })
    if (own !== undefined) real.set(exposed, own)
  }
}

function problem(
  view: View,
  entry: CatalogEntry,
  own: CatalogEntry,
  taken: ReadonlySet<string>,
): string | undefined {
  if (taken.has(entry.exposed)) return 'another one is shown under this name'
  if (entry.upstream === '' && view.find(entry.exposed) !== undefined)
    return 'the name is the real one of another'
  if (entry.exposed === own.exposed) return undefined
  if (entry.kind !== 'tools' && entry.kind !== 'prompts') return 'a URI cannot be shown as another one'
  return view.find(entry.exposed) === undefined ? undefined : 'the name is the real one of another'
}

function isSame(before: readonly CatalogEntry[], after: readonly CatalogEntry[]): boolean {
  return before.length === after.length && before.every((entry, index) => entry === after[index])
}
