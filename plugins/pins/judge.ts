import type { CatalogEntry, JsonObject, UpstreamInstructions } from '../../src/plugin.ts'
import { BoundedMap } from '../../src/plugin.ts'
import type { PinnedKind } from './definition.ts'
import { bodyHash, definitionOf, hashOf, isPinnedKind } from './definition.ts'
import { pinsError } from './errors.ts'
import type { Lock, UpstreamPins } from './lock-file.ts'
import { skeleton } from './text.ts'

/** Mode of one upstream. */
export type Mode = 'off' | 'warn' | 'withhold' | 'strict'

/** Status of a definition: as it was accepted, accepted by nobody, or another one than was accepted. */
export type Status = 'same' | 'new' | 'changed'

/** Judgement of one definition. */
interface Verdict {
  readonly status: Status
  /** Name of the accepted one that it may be taken for, where it has another name. */
  readonly like?: string
}

/** A definition that is not as it was accepted, when it is first seen. */
export interface Drift extends Verdict {
  readonly upstream: string
  readonly what: 'tools' | 'prompts' | 'resourceTemplates' | 'instructions'
  readonly name: string
  readonly hash: string
  readonly isWithheld: boolean
}

/** Names whose last verdict is kept, for whoever asks for one that no list has. */
const MAX_NAMES = 50_000

const WORDS: Readonly<Record<PinnedKind, string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resourceTemplates: 'resource template',
}

/** Lookups in the pins of one upstream, for names that the pins do not have. */
interface Likeness {
  readonly bySkeleton: ReadonlyMap<string, string>
  readonly byBody: ReadonlyMap<string, string>
  readonly byDescription: ReadonlyMap<string, string>
}

/** Parts that a judge works with. */
interface Bench {
  readonly lock: Lock | undefined
  /** By upstream; those without one are not judged. */
  readonly modes: ReadonlyMap<string, Mode>
  /** Hashes by what a server listed, so that each is made once. */
  readonly hashes: WeakMap<JsonObject, string>
  /** Hears of every drift; whoever hears it twice keeps that to himself. */
  drifted(drift: Drift): void
}

/** Compares what servers describe with what their owner accepted. A definition that was judged costs one look-up. */
export class Judge {
  readonly #bench: Bench
  /** Entries as they are passed on, by those that came. */
  readonly #judged = new WeakMap<CatalogEntry, CatalogEntry>()
  /** Verdicts by upstream, kind and name, as they were given last. */
  readonly #last = new BoundedMap<string, Verdict>({ max: MAX_NAMES })
  readonly #likeness = new Map<string, Likeness>()

  constructor(bench: Bench) {
    this.#bench = bench
  }

  /** The entry with its mark, and withheld where its upstream's mode says so. */
  judge(entry: CatalogEntry): CatalogEntry {
    const mode = this.#bench.modes.get(entry.upstream)
    const { kind } = entry
    // An empty name is the question whether anything of an upstream may be seen.
    if (mode === undefined || !isPinnedKind(kind) || entry.original === '') return entry
    const known = this.#judged.get(entry)
    if (known !== undefined) return known
    if (entry.isUnlisted === true) return this.#unlisted(entry, kind, mode)
    const hash = this.#hash(entry, kind)
    const verdict = this.#verdict(entry, kind, hash)
    this.#last.set(keyOf(entry), verdict)
    const judged = marked(entry, verdict, mode)
    if (verdict.status !== 'same') this.#tell(judged, verdict, hash)
    this.#judged.set(entry, judged)
    return judged
  }

  /** Instructions that may be passed on. */
  instructions(all: readonly UpstreamInstructions[]): readonly UpstreamInstructions[] {
    return all.filter(({ upstream, text }) => this.#mayInstruct(upstream, text))
  }

  /** Number of names by upstream and status, as they were judged last. */
  counts(): ReadonlyMap<string, Readonly<Record<Status, number>>> {
    const counts = new Map<string, Record<Status, number>>()
    for (const [key, { status }] of this.#last.entries()) {
      const [upstream] = JSON.parse(key) as [string]
      const own = counts.get(upstream) ?? { same: 0, new: 0, changed: 0 }
      own[status]++
      counts.set(upstream, own)
    }
    return counts
  }

  #mayInstruct(upstream: string, text: string): boolean {
    const mode = this.#bench.modes.get(upstream)
    if (mode === undefined) return true
    const pins = this.#bench.lock?.get(upstream)
    const hash = hashOf(text)
    if (pins?.instructions?.hash === hash) return true
    // A server that was accepted without instructions has changed when it has some.
    const status = pins === undefined ? 'new' : 'changed'
    const isWithheld = withholds(mode, status)
    this.#bench.drifted({ upstream, what: 'instructions', name: 'instructions', hash, status, isWithheld })
    return !isWithheld
  }

  #hash({ value }: CatalogEntry, kind: PinnedKind): string {
    let hash = this.#bench.hashes.get(value)
    if (hash === undefined) this.#bench.hashes.set(value, (hash = hashOf(definitionOf(kind, value))))
    return hash
  }

  #verdict({ upstream, original, value }: CatalogEntry, kind: PinnedKind, hash: string): Verdict {
    const pins = this.#bench.lock?.get(upstream)
    if (pins === undefined) return { status: 'new' }
    const accepted = pins.definitions[kind].get(original)
    if (accepted !== undefined) return { status: accepted.hash === hash ? 'same' : 'changed' }
    const like = this.#like(upstream, kind, pins, original, definitionOf(kind, value))
    return like === undefined ? { status: 'new' } : { status: 'changed', like }
  }

  /** The accepted one that a new name may be taken for, or that went on under it: a rename is a change. */
  #like(
    upstream: string,
    kind: PinnedKind,
    pins: UpstreamPins,
    name: string,
    definition: JsonObject,
  ): string | undefined {
    const key = JSON.stringify([upstream, kind])
    let likeness = this.#likeness.get(key)
    if (likeness === undefined) this.#likeness.set(key, (likeness = likenessOf(kind, pins)))
    const { bySkeleton, byBody, byDescription } = likeness
    const looks = bySkeleton.get(skeleton(name))
    if (looks !== undefined) return looks
    const body = bodyHash(definition)
    if (body === undefined) return undefined
    return byBody.get(body) ?? byDescription.get(String(definition.description).trim())
  }

  /** A name that no list has is judged by what is known of it: a route or a guess leads past nothing that is withheld. */
  #unlisted(entry: CatalogEntry, kind: PinnedKind, mode: Mode): CatalogEntry {
    const known = this.#last.get(keyOf(entry))
    if (known !== undefined) return marked(entry, known, mode)
    const isAccepted = this.#bench.lock?.get(entry.upstream)?.definitions[kind].has(entry.original) === true
    return isAccepted ? entry : marked(entry, { status: 'new' }, mode)
  }

  #tell({ upstream, kind, original, refusal }: CatalogEntry, verdict: Verdict, hash: string): void {
    const isWithheld = refusal !== undefined
    this.#bench.drifted({ ...verdict, upstream, what: kind as PinnedKind, name: original, hash, isWithheld })
  }
}

/** True where a definition of this status is kept back. */
export function withholds(mode: Mode, status: Status): boolean {
  return status === 'changed'
    ? mode === 'withhold' || mode === 'strict'
    : status === 'new' && mode === 'strict'
}

function marked(entry: CatalogEntry, { status, like }: Verdict, mode: Mode): CatalogEntry {
  const judged = { ...entry, marks: { ...entry.marks, pin: status } }
  if (!withholds(mode, status)) return judged
  const code = status === 'new' ? 'GW_DEFINITION_NEW' : 'GW_DEFINITION_CHANGED'
  const { message, entry: row } = pinsError(code, {
    what: WORDS[entry.kind as PinnedKind],
    name: entry.exposed,
    upstream: entry.upstream,
    like: like === undefined ? '' : `, and "${like}" is much like it`,
  })
  const reason = status === 'new' ? 'definition_new' : 'definition_changed'
  return { ...judged, refusal: { code: row.rpc ?? 0, message, data: { code, reason } } }
}

function likenessOf(kind: PinnedKind, { definitions }: UpstreamPins): Likeness {
  const bySkeleton = new Map<string, string>()
  const byBody = new Map<string, string>()
  const byDescription = new Map<string, string>()
  for (const [name, { accepted }] of definitions[kind]) {
    bySkeleton.set(skeleton(name), name)
    const body = bodyHash(accepted)
    if (body === undefined) continue
    byBody.set(body, name)
    byDescription.set(String(accepted.description).trim(), name)
  }
  return { bySkeleton, byBody, byDescription }
}

function keyOf({ upstream, kind, original }: CatalogEntry): string {
  return JSON.stringify([upstream, kind, original])
}
