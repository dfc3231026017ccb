import type { Heard, Json } from './peer.ts'

const PATIENCE = 4_000

interface Waiter {
  readonly method: string
  readonly fits: (params: Json) => boolean
  readonly resolve: (params: Json) => void
}

/** Keeps what was heard and wakes who waits for it. */
export class Ear implements Heard {
  #heard: { method: string; params: Json }[] = []
  #waiters: Waiter[] = []

  hear(method: string, params: Json = {}): void {
    this.#heard.push({ method, params })
    const met = this.#waiters.filter(waiter => waiter.method === method && waiter.fits(params))
    this.#waiters = this.#waiters.filter(waiter => !met.includes(waiter))
    for (const { resolve } of met) resolve(params)
  }

  all(method: string): readonly Json[] {
    return this.#heard.filter(each => each.method === method).map(({ params }) => params)
  }

  forget(method: string): void {
    this.#heard = this.#heard.filter(each => each.method !== method)
  }

  next(method: string, fits: (params: Json) => boolean = () => true): Promise<Json> {
    const past = this.all(method).find(fits)
    if (past !== undefined) return Promise.resolve(past)
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} never came`)), PATIENCE)
      const done = (params: Json) => {
        clearTimeout(timer)
        resolve(params)
      }
      this.#waiters.push({ method, fits, resolve: done })
    })
  }
}
