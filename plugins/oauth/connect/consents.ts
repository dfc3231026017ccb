import { createHash } from 'node:crypto'
import { BoundedMap, type SharedStore } from '../../../src/plugin.ts'

const MAX_CONSENTS = 10_000
/** One that nobody needed for so long is asked for again. */
const CONSENT_MS = 90 * 86_400_000

/**
 * Consents that were given: of whom, to which upstream and authorization server, for which scopes. Replicas have them in common, sealed, so
 * that nobody who writes there gives one; while that is away only those that were given here are known.
 */
export class Consents {
  readonly #own = new BoundedMap<string, true>({ max: MAX_CONSENTS })
  readonly #shared: SharedStore | undefined

  constructor(shared: SharedStore | undefined) {
    this.#shared = shared
  }

  async has(consent: string): Promise<boolean> {
    if (this.#own.has(consent)) return true
    try {
      const key = keyOf(consent)
      const sealed = await this.#shared?.get(key)
      return sealed !== undefined && this.#shared?.open(sealed, key) === consent
    } catch {
      return false
    }
  }

  give(consent: string): void {
    this.#own.set(consent, true)
    const key = keyOf(consent)
    const shared = this.#shared
    shared?.put(key, shared.seal(consent, key), { ms: CONSENT_MS }).catch(() => undefined)
  }
}

/** Long lists of scopes make long consents. */
function keyOf(consent: string): string {
  return `consent ${createHash('sha256').update(consent).digest('base64url')}`
}
