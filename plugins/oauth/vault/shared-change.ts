import { setTimeout as rest } from 'node:timers/promises'
import type { SharedStore } from '../../../src/plugin.ts'
import { vaultError } from './errors.ts'

/** Others that may be faster, one after another. */
const MOST_TRIES = 30
const MOST_REST_MS = 20

/** Next form of a text, and the result of the change; nothing is written without `next`. */
interface Change<T> {
  readonly result: T
  readonly next?: string | undefined
}

/**
 * Reads a sealed text, changes it, and writes it if nobody else has meanwhile; else once more. A text that cannot be opened is given
 * as undefined, with `isForeign`. Rejects with GW_SHARED_AWAY where it is not known what came of it.
 */
export async function changeText<T>(
  store: SharedStore,
  key: string,
  ms: number,
  change: (text: string | undefined, isForeign: boolean) => Change<T>,
): Promise<T> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const before = await store.get(key)
    const text = before === undefined ? undefined : store.open(before, key)
    const { result, next } = change(text, before !== undefined && text === undefined)
    if (next === undefined) return result
    const when = before === undefined ? 'absent' : { is: before }
    if (await store.put(key, store.seal(next, key), { ms, when })) return result
    await rest(Math.random() * MOST_REST_MS)
  }
  throw vaultError('GW_VAULT_SHARED', { why: 'others write the same login again and again' })
}
