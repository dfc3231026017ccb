import type { CatalogEntry, JsonObject, UpstreamInstructions } from '../../src/plugin.ts'
import { BoundedMap } from '../../src/plugin.ts'
import type { PinnedKind } from './definition.ts'
import { hashBody, extractDefinition, hashValue, isPinnedKind } from './definition.ts'
import { pinsError } from './errors.ts'
import type { Lock, UpstreamPins } from './lock-file.ts'
import { createSkeleton } from './text.ts'

/** Mode of one upstream. */
export type Mode = 'off' | 'warn' | 'withhold' | 'strict'

/** Status of a definition: as it was accepted, accepted by nobody, or another one than was accepted. */
export type Status = 'same' | 'new' | 'changed'

/** Judgement of one definition. */
interface PinVerdict {
  readonly status: Status
  /** Name of the accepted one that it may be taken for, where it has another name. */
  readonly like?: string
}

/** A definition that is not as it was accepted, when it is first seen. */
export interface Drift extends PinVerdict {
  readonly upstream: string
  readonly what: 'tools' | 'prompts' | 'resourceTemplates' | 'instructions'
  readonly name: string
  readonly hash: string
  readonly isWithheld: boolean
}

/** Names whose last verdict is kept, for whoever asks for one that no list has. */
const MAX_NAMES = 50_000

const KIND_NAMES: Readonly<Record<PinnedKind, string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resourceTemplates: 'resource template',
}

/** Lookups in the pins of one upstream, for names that the pins do not have. */
interface SimilarityIndex {
  readonly bySkeleton: ReadonlyMap<string, string>
  readonly byBody: ReadonlyMap<string, string>
  readonly byDescription: ReadonlyMap<string, string>
}

/** Parts that a judge works with. */
interface PinJudgeDeps {
  readonly lock: Lock | undefined
  /** By upstream; those without one are not judged. */
  readonly modes: ReadonlyMap<string, Mode>
  /** Hashes by what a server listed, so that each is made once. */
  readonly hashes: WeakMap<JsonObject, string>
  /** Hears of every drift; whoever hears it twice keeps that to himself. */
  onDrift(drift: Drift): void
}

/** Compares what servers describe with what their owner accepted. A definition that was judged costs one look-up. */
export class PinJudge {
  readonly #deps: PinJudgeDeps
  /** Entries as they are passed on, by those that came. */
  readonly #judged = new WeakMap<CatalogEntry, CatalogEntry>()
  /** Verdicts by upstream, kind and name, as they were given last. */
  readonly #last = new BoundedMap<string, PinVerdict>({ max: MAX_NAMES })
  readonly #likeness = new Map<string, SimilarityIndex>()

  constructor(bench: PinJudgeDeps) {
    this.#deps = bench
  }

  /** The entry with its mark, and withheld where its upstream's mode says so. */
  judge(entry: CatalogEntry): CatalogEntry {
    const mode = this.#deps.modes.get(entry.upstream)
    const { kind } = entry
    // An empty name is the question whether anything of an upstream may be seen.
    if (mode === undefined || !isPinnedKind(kind) || entry.original === '') return entry
    const known = this.#judged.get(entry)
    if (known !== undefined) return known
    if (entry.isUnlisted === true) return this.#judgeUnlisted(entry, kind, mode)
    const hash = this.#hash(entry, kind)
    const verdict = this.#judgeDefinition(entry, kind, hash)
    this.#last.set(createEntryKey(entry), verdict)
    const judged = markEntry(entry, verdict, mode)
    if (verdict.status !== 'same') this.#reportDrift(judged, verdict, hash)
    this.#judged.set(entry, judged)
    return judged
  }

  /** Instructions that may be passed on. */
  instructions(all: readonly UpstreamInstructions[]): readonly UpstreamInstructions[] {
    return all.filter(({ upstream, text }) => this.#canPassInstructions(upstream, text))
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

  #canPassInstructions(upstream: string, text: string): boolean {
    const mode = this.#deps.modes.get(upstream)
    if (mode === undefined) return true
    const pins = this.#deps.lock?.get(upstream)
    const hash = hashValue(text)
    if (pins?.instructions?.hash === hash) return true
    // A server that was accepted without instructions has changed when it has some.
    const status = pins === undefined ? 'new' : 'changed'
    const isWithheld = shouldWithhold(mode, status)
    this.#deps.onDrift({ upstream, what: 'instructions', name: 'instructions', hash, status, isWithheld })
    return !isWithheld
  }

  #hash({ value }: CatalogEntry, kind: PinnedKind): string {
    let hash = this.#deps.hashes.get(value)
    if (hash === undefined) this.#deps.hashes.set(value, (hash = hashValue(extractDefinition(kind, value))))
    return hash
  }

  #judgeDefinition({ upstream, original, value }: CatalogEntry, kind: PinnedKind, hash: string): PinVerdict {
    const pins = this.#deps.lock?.get(upstream)
    if (pins === undefined) return { status: 'new' }
    const accepted = pins.definitions[kind].get(original)
    if (accepted !== undefined) return { status: accepted.hash === hash ? 'same' : 'changed' }
    const like = this.#findSimilar(upstream, kind, pins, original, extractDefinition(kind, value))
    return like === undefined ? { status: 'new' } : { status: 'changed', like }
  }

  /** The accepted one that a new name may be taken for, or that went on under it: a rename is a change. */
  #findSimilar(
    upstream: string,
    kind: PinnedKind,
    pins: UpstreamPins,
    name: string,
    definition: JsonObject,
  ): string | undefined {
    const key = JSON.stringify([upstream, kind])
    let likeness = this.#likeness.get(key)
    if (likeness === undefined) this.#likeness.set(key, (likeness = indexSimilarNames(kind, pins)))
    const { bySkeleton, byBody, byDescription } = likeness
    const looks = bySkeleton.get(createSkeleton(name))
    if (looks !== undefined) return looks
    const body = hashBody(definition)
    if (body === undefined) return undefined
    return byBody.get(body) ?? byDescription.get(String(definition.description).trim())
  }

  /** A name that no list has is judged by what is known of it: a route or a guess leads past nothing that is withheld. */
  #judgeUnlisted(entry: CatalogEntry, kind: PinnedKind, mode: Mode): CatalogEntry {
    const known = this.#last.get(createEntryKey(entry))
    if (known !== undefined) return markEntry(entry, known, mode)
    const isAccepted = this.#deps.lock?.get(entry.upstream)?.definitions[kind].has(entry.original) === true
    return isAccepted ? entry : markEntry(entry, { status: 'new' }, mode)
  }

  #reportDrift({ upstream, kind, original, refusal }: CatalogEntry, verdict: PinVerdict, hash: string): void {
    const isWithheld = refusal !== undefined
    this.#deps.onDrift({ ...verdict, upstream, what: kind as PinnedKind, name: original, hash, isWithheld })
  }
}

/** True where a definition of this status is kept back. */
export function shouldWithhold(mode: Mode, status: Status): boolean {
  return status === 'changed'
    ? mode === 'withhold' || mode === 'strict'
    : status === 'new' && mode === 'strict'
}

function markEntry(entry: CatalogEntry, { status, like }: PinVerdict, mode: Mode): CatalogEntry {
  const judged = { ...entry, marks: { ...entry.marks, pin: status } }
  if (!shouldWithhold(mode, status)) return judged
  const code = status === 'new' ? 'GW_DEFINITION_NEW' : 'GW_DEFINITION_CHANGED'
  const { message, entry: row } = pinsError(code, {
    what: KIND_NAMES[entry.kind as PinnedKind],
    name: entry.exposed,
    upstream: entry.upstream,
    like: like === undefined ? '' : `, and "${like}" is much like it`,
  })
  const reason = status === 'new' ? 'definition_new' : 'definition_changed'
  return { ...judged, refusal: { code: row.rpc ?? 0, message, data: { code, reason } } }
}

function indexSimilarNames(kind: PinnedKind, { definitions }: UpstreamPins): SimilarityIndex {
  const bySkeleton = new Map<string, string>()
  const byBody = new Map<string, string>()
  const byDescription = new Map<string, string>()
  for (const [name, { accepted }] of definitions[kind]) {
    bySkeleton.set(createSkeleton(name), name)
    const body = hashBody(accepted)
    if (body === undefined) continue
    byBody.set(body, name)
    byDescription.set(String(accepted.description).trim(), name)
  }
  return { bySkeleton, byBody, byDescription }
}

function createEntryKey({ upstream, kind, original }: CatalogEntry): string {
  return JSON.stringify([upstream, kind, original])
}
