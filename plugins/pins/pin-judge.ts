import type { CatalogEntry, Config, JsonObject } from '../../src/plugin.ts'
import { BoundedMap } from '../../src/plugin.ts'
import type { PinKind, PinnedKind } from './definition.ts'
import {
  createInstructions,
  createPinKey,
  extractDefinition,
  findPin,
  getDefinitionName,
  hashValue,
  isPinnedKind,
} from './definition.ts'
import { pinsError } from './errors.ts'
import type { Lock } from './lock-file.ts'

export type Mode = 'off' | 'warn' | 'withhold' | 'strict'

/** `same`: as accepted; `new`: never accepted; `changed`: different from the accepted definition. */
export type Status = 'same' | 'new' | 'changed'

/** A difference from the lock. */
export interface Drift {
  readonly status: Status
  readonly upstream: string
  readonly what: PinKind
  readonly name: string
  readonly hash: string
  readonly isWithheld: boolean
}

/** Maximum remembered verdicts, needed for names that are in no list. */
const MAX_NAMES = 50_000

const KIND_NAMES: Readonly<Record<PinnedKind, string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resourceTemplates: 'resource template',
  skills: 'skill',
}

/** One upstream's instructions. */
interface InstructionsText {
  readonly upstream: string
  readonly text: string
}

interface PinJudgeDeps {
  readonly lock: Lock | undefined
  /** By upstream; missing ones are not judged. */
  readonly modes: ReadonlyMap<string, Mode>
  /** Hashes by listed value, to compute each once. */
  readonly hashes: WeakMap<JsonObject, string>
  /** Called for every difference; may repeat. */
  onDrift(drift: Drift): void
}

/** Compares definitions with the accepted ones. Repeated judgement of an entry is one lookup. */
export class PinJudge {
  readonly #deps: PinJudgeDeps
  /** Judged entries by original entry. */
  readonly #judged = new WeakMap<CatalogEntry, CatalogEntry>()
  /** Latest statuses by upstream, kind and name. */
  readonly #last = new BoundedMap<string, Status>({ max: MAX_NAMES })

  constructor(deps: PinJudgeDeps) {
    this.#deps = deps
  }

  /** Marks the entry, and withholds it if the upstream's mode requires it. */
  judge(entry: CatalogEntry): CatalogEntry {
    const mode = this.#deps.modes.get(entry.upstream)
    const { kind } = entry
    // An empty name asks whether anything of the upstream is visible.
    if (mode === undefined || entry.original === '') return entry
    const cached = this.#judged.get(entry)
    if (cached !== undefined) return cached
    if (!isPinnedKind(kind)) return this.#markSkillFile(entry)
    if (entry.isUnlisted === true) return this.#judgeUnlisted(entry, kind, mode)
    const hash = this.#hash(entry, kind)
    const { upstream } = entry
    // A file's entry has its skill's definition.
    const name = kind === 'skills' ? getDefinitionName(kind, entry.value) : entry.original
    const status = this.#compare(upstream, kind, name, hash)
    this.#last.set(createEntryKey(entry, name), status)
    const judged = markEntry(entry, status, mode)
    const isWithheld = judged.refusal !== undefined
    if (status !== 'same') this.#deps.onDrift({ status, upstream, what: kind, name, hash, isWithheld })
    this.#judged.set(entry, judged)
    return judged
  }

  /** Marks a resource that is a file of an accepted skill, so that it is verified under its own URI too. */
  #markSkillFile(entry: CatalogEntry): CatalogEntry {
    const pin = findPin(this.#deps.lock?.get(entry.upstream), 'skills', entry.original)
    const marked = pin === undefined ? entry : { ...entry, marks: { ...entry.marks, skill: pin.name } }
    this.#judged.set(entry, marked)
    return marked
  }

  /** Filters out withheld instructions. */
  instructions(all: readonly InstructionsText[]): readonly InstructionsText[] {
    return all.filter(({ upstream, text }) => this.#canPassInstructions(upstream, text))
  }

  /** Counts names by upstream and status. */
  counts(): ReadonlyMap<string, Readonly<Record<Status, number>>> {
    const counts = new Map<string, Record<Status, number>>()
    for (const [key, status] of this.#last.entries()) {
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
    const hash = hashValue(createInstructions(text))
    const status = this.#compare(upstream, 'instructions', 'instructions', hash)
    if (status === 'same') return true
    const isWithheld = shouldWithhold(mode, status)
    this.#deps.onDrift({ upstream, what: 'instructions', name: 'instructions', hash, status, isWithheld })
    return !isWithheld
  }

  #hash({ value }: CatalogEntry, kind: PinnedKind): string {
    let hash = this.#deps.hashes.get(value)
    if (hash === undefined) this.#deps.hashes.set(value, (hash = hashValue(extractDefinition(kind, value))))
    return hash
  }

  /** Instructions added after acceptance are a change. */
  #compare(upstream: string, kind: PinKind, name: string, hash: string): Status {
    const pins = this.#deps.lock?.get(upstream)
    const accepted = pins?.get(createPinKey(kind, name))
    if (accepted !== undefined) return accepted.hash === hash ? 'same' : 'changed'
    return pins !== undefined && kind === 'instructions' ? 'changed' : 'new'
  }

  /** Judges a name that is in no list by its latest status, so that guessing a name bypasses nothing. */
  #judgeUnlisted(entry: CatalogEntry, kind: PinnedKind, mode: Mode): CatalogEntry {
    const pin = findPin(this.#deps.lock?.get(entry.upstream), kind, entry.original)
    const status = this.#last.get(createEntryKey(entry, pin?.name))
    // Without a manifest, the accepted one verifies a skill's files.
    const verifies = kind === 'skills' && pin !== undefined && shouldWithhold(mode, 'changed')
    const known = verifies ? { ...entry, value: pin.definition } : entry
    if (status !== undefined) return markEntry(known, status, mode)
    return pin === undefined ? markEntry(entry, 'new', mode) : known
  }
}

/** Returns true if a definition with this status is withheld. */
export function shouldWithhold(mode: Mode, status: Status): boolean {
  return status === 'changed' ? mode === 'withhold' || mode === 'strict' : status === 'new' && mode === 'strict'
}

function markEntry(entry: CatalogEntry, status: Status, mode: Mode): CatalogEntry {
  const judged = { ...entry, marks: { ...entry.marks, pin: status } }
  if (!shouldWithhold(mode, status)) return judged
  const code = status === 'new' ? 'GW_DEFINITION_NEW' : 'GW_DEFINITION_CHANGED'
  const { message, entry: row } = pinsError(code, {
    what: KIND_NAMES[entry.kind as PinnedKind],
    name: entry.exposed,
    upstream: entry.upstream,
  })
  const reason = status === 'new' ? 'definition_new' : 'definition_changed'
  return { ...judged, refusal: { code: row.rpc ?? 0, message, data: { code, reason } } }
}

function createEntryKey({ upstream, kind, original }: CatalogEntry, name = original): string {
  return JSON.stringify([upstream, kind, name])
}

/** Lists each pinned upstream's mode. */
export function listModes({ pins, upstreams }: Config): ReadonlyMap<string, Exclude<Mode, 'off'>> {
  const modes = new Map<string, Exclude<Mode, 'off'>>()
  for (const [name, spec] of Object.entries(upstreams)) {
    const mode = spec.pins ?? pins ?? 'off'
    if (mode !== 'off' && spec.enabled) modes.set(name, mode)
  }
  return modes
}
