import { Seal } from '../../core/seal.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readSealed, sealedPrefix } from '../affinity.ts'

/**
 * The seal of all workers: each opens what any of them has closed. What only one can do something with, a parked call or a
 * hosted task, says which; that is no secret, and bound to what is sealed.
 */
export class SharedSeal extends Seal {
  readonly #number: number

  constructor(key: Buffer, number: number) {
    super(key)
    this.#number = number
  }

  override close(value: unknown, boundTo: string): string {
    if (!isKeptHere(value)) return super.close(value, boundTo)
    return `${sealedPrefix(this.#number)}${super.close(value, `${this.#number} ${boundTo}`)}`
  }

  override open(sealed: string, boundTo: string): unknown {
    const kept = readSealed(sealed)
    return kept === undefined
      ? super.open(sealed, boundTo)
      : super.open(kept.rest, `${kept.number} ${boundTo}`)
  }
}

function isKeptHere(value: unknown): boolean {
  if (!isObject(value)) return false
  // What is closed for a time is inside of what says so.
  if (isObject(value.value)) return isKeptHere(value.value)
  if (value.at === 'gateway') return true
  return value.parked !== undefined || (isObject(value.place) && value.place.at === 'gateway')
}
