import type { Session } from '../../src/plugin.ts'
import { BoundedMap, compileGlobs, principalKey } from '../../src/plugin.ts'
import type { CallDetail, CallRow, Calls, ClientRow } from './types.ts'

const MAX_CLIENTS = 1000
/** Clients of one caller: names are theirs to choose. */
const MAX_OF_CALLER = 100
const MAX_LENGTH = 100

type Counted = { -readonly [K in keyof ClientRow]: ClientRow[K] }

/** Clients that are here or have been: those of one caller that say the same of themselves are one. */
export class Clients {
  readonly #rows = new BoundedMap<string, Counted>({ max: MAX_CLIENTS, share: MAX_OF_CALLER })
  /** By the slots of a session, which all forms of it share. */
  readonly #bySession = new WeakMap<readonly unknown[], Counted>()

  opened(session: Session): void {
    const row = this.#rowOf(session)
    row.open++
    row.seenAt = Date.now()
    this.#bySession.set(session.slots, row)
  }

  called({ slots }: Session): void {
    const row = this.#bySession.get(slots)
    if (row === undefined) return
    row.calls++
    row.seenAt = Date.now()
  }

  closed({ slots }: Session): void {
    const row = this.#bySession.get(slots)
    if (row !== undefined && this.#bySession.delete(slots)) row.open--
  }

  /** The latest first. */
  list(): ClientRow[] {
    return [...this.#rows.values()].sort((a, b) => b.seenAt - a.seenAt).map(row => ({ ...row }))
  }

  #rowOf({ client, principal, listener, profile = '' }: Session): Counted {
    const { info, era, version: protocol } = client
    const [name, version] = [info.name.slice(0, MAX_LENGTH), info.version.slice(0, MAX_LENGTH)]
    const caller = principalKey(principal)
    const key = JSON.stringify([name, version, era, protocol, caller, listener, profile])
    const known = this.#rows.use(key)
    if (known !== undefined) return known
    const { subject, issuer } = principal
    const row = { client: name, version, era, protocol, subject, issuer, listener, profile }
    const counted = { ...row, open: 0, calls: 0, seenAt: 0 }
    this.#rows.set(key, counted, caller)
    return counted
  }
}

/** Conditions of a search; all that are given must fit. */
export interface CallLogFilter {
  /** Name of the tool; `*` stands for anything. */
  readonly tool?: string | undefined
  readonly caller?: string | undefined
  readonly server?: string | undefined
  /** An outcome; `failed` stands for all that are not well. */
  readonly outcome?: string | undefined
  /** Only calls before the one of this id. */
  readonly before?: number | undefined
  /** Only calls after the one of this id. */
  readonly after?: number | undefined
  readonly limit: number
}

const FINE: ReadonlySet<string> = new Set(['ok', 'input_required', 'task'])

export function isFailed(outcome: string): boolean {
  return !FINE.has(outcome)
}

/** The calls of late, each at the place of its id, so that the oldest is written over. */
export class CallLog {
  #kept: (CallDetail | undefined)[] = []
  #max: number
  #next = 1

  constructor(max: number) {
    this.#max = max
  }

  /** Takes over another bound; what is kept stays, as far as it fits. */
  resize(max: number): void {
    if (max === this.#max) return
    const newest = this.#newest().slice(0, max)
    this.#max = max
    this.#kept = []
    for (const call of newest) this.#kept[call.id % max] = call
  }

  add(call: Omit<CallDetail, 'id'>): CallDetail {
    const kept = { id: this.#next++, ...call }
    this.#kept[kept.id % this.#max] = kept
    return kept
  }

  get(id: number): CallDetail | undefined {
    const call = this.#kept[id % this.#max]
    return call?.id === id ? call : undefined
  }

  find({ limit, before, after = 0, ...wanted }: CallLogFilter): Calls {
    const fits = fitting(wanted)
    const found: CallRow[] = []
    const newest = this.#next - 1
    const kept = Math.min(newest, this.#max)
    const oldest = Math.max(this.#next - kept, after + 1)
    for (let id = Math.min(before ?? Infinity, this.#next) - 1; id >= oldest; id--) {
      const call = this.get(id)
      if (call === undefined || !fits(call)) continue
      if (found.length === limit) return { calls: found, kept, newest, next: id + 1 }
      found.push(rowOf(call))
    }
    return { calls: found, kept, newest }
  }

  #newest(): CallDetail[] {
    return this.#kept.filter(call => call !== undefined).sort((a, b) => b.id - a.id)
  }
}

function fitting({
  tool,
  caller,
  server,
  outcome,
}: Omit<CallLogFilter, 'limit' | 'before' | 'after'>): (call: CallDetail) => boolean {
  const isTool = tool === undefined ? undefined : compileGlobs(/[*?]/.test(tool) ? tool : `*${tool}*`)
  return call =>
    (isTool === undefined || isTool(call.name)) &&
    (caller === undefined || call.subject.includes(caller)) &&
    (server === undefined || call.upstream === server) &&
    (outcome === undefined || (outcome === 'failed' ? isFailed(call.outcome) : call.outcome === outcome))
}

/** The part of a call that lists show. */
export function rowOf(call: CallDetail): CallRow {
  const { id, at, ms, method, name, upstream, subject, client, outcome, code, bytesIn, bytesOut } = call
  return { id, at, ms, method, name, upstream, subject, client, outcome, code, bytesIn, bytesOut }
}
