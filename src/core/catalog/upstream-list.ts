import type { CatalogEntry, ListPage } from '../../api/catalog-entry.ts'
import { createUnlistedEntry } from '../../api/catalog-entry.ts'
import type { Upstream } from '../../api/index.ts'
import type { Kind } from '../../protocol/methods.ts'
import type { Payload } from '../../protocol/payload.ts'
import { getLiveUpstream } from '../reused-upstream.ts'

const MEMORY_KEY = 'unlisted'

/** List methods that upstreams lack. Outlives a configuration. */
export class UnlistedMethods {
  readonly #methods = new WeakMap<Upstream, Set<string>>()

  /**
   * True if an upstream that is not running is known to lack a list method that its capabilities suggest: many have
   * resources without templates. A running upstream is probed again.
   */
  isKnownToLack(upstream: Upstream, method: string): boolean {
    const isAsleep = upstream.state === 'idle' || upstream.state === 'starting'
    return isAsleep && this.#getMethods(upstream).has(method)
  }

  note(upstream: Upstream, method: string, isListed: boolean): void {
    const methods = this.#getMethods(upstream)
    if (methods.has(method) !== isListed) return
    if (isListed) methods.delete(method)
    else methods.add(method)
    upstream.memory?.write(MEMORY_KEY, [...methods])
  }

  #getMethods(upstream: Upstream): Set<string> {
    const live = getLiveUpstream(upstream)
    let methods = this.#methods.get(live)
    if (methods === undefined) {
      const saved = upstream.memory?.read(MEMORY_KEY)
      methods = new Set(Array.isArray(saved) ? saved.filter(one => typeof one === 'string') : [])
      this.#methods.set(live, methods)
    }
    return methods
  }
}

/** One upstream's list, all pages. */
export interface UpstreamList {
  readonly upstream: string
  readonly payloads: readonly Payload[]
  readonly entries: readonly CatalogEntry[]
  /** Hash of the list; empty without a list. */
  readonly digest: string
  /** True for the last known list of a slow or absent upstream. */
  readonly isStale?: boolean
  readonly cut?: string
  /** Reason why malformed entries are withheld. */
  readonly malformed?: string
  /** Malformed fields that were dropped. */
  readonly dropped?: readonly string[]
}

/** Empty list of an upstream that lacks a kind. */
export const EMPTY_LIST: UpstreamList = { upstream: '', payloads: [], entries: [], digest: '' }

/** Pending first list: a promise, and the milliseconds left to wait for it. */
export interface LateList {
  readonly done: Promise<unknown>
  readonly leftMs: number
}

/**
 * Guesses the entries of an upstream whose list is missing: an unprefixed name may belong to any upstream without a
 * prefix; a URI is more specific.
 */
export function guessEntries(
  { upstream, prefix }: { readonly upstream: Upstream; readonly prefix: string },
  kind: Kind,
  name: string,
): CatalogEntry[] {
  const isNamed = kind === 'tools' || kind === 'prompts'
  return prefix === '' && isNamed ? [createUnlistedEntry(kind, upstream.name, name, prefix)] : []
}

/** Maximum entries or fields that a message names. */
const MAX_NAMED = 5

/** Returns why list entries are withheld; undefined if all are valid. */
export function describeMalformed(pages: readonly ListPage[]): string | undefined {
  const problem = pages.find(page => page.problem !== undefined)?.problem
  const withheld = pages.flatMap(page => page.withheld)
  if (withheld.length === 0) return problem
  const names = `withheld: ${summarizeNames(withheld)}`
  return problem === undefined ? names : `${problem}; ${names}`
}

export function summarizeNames(all: readonly string[]): string {
  const named = all.slice(0, MAX_NAMED).join(', ')
  return all.length > MAX_NAMED ? `${named} and ${all.length - MAX_NAMED} more` : named
}
