import type { Ask, JsonObject } from '../core/ports.ts'

/** An ask that came from another process. */
export class CrossingAsk implements Ask {
  readonly method: string
  readonly params: JsonObject | undefined
  #why: string | undefined
  #listener: ((reason: string) => void)[] = []

  constructor(method: string, params: JsonObject | undefined) {
    this.method = method
    this.params = params
  }

  get isTakenBack(): boolean {
    return this.#why !== undefined
  }

  onTakeBack(listener: (reason: string) => void): void {
    if (this.#why === undefined) this.#listener.push(listener)
    else listener(this.#why)
  }

  /** Its reply is of no use any more. */
  end(why: string): void {
    if (this.#why !== undefined) return
    this.#why = why
    for (const listener of this.#listener.splice(0)) listener(why)
  }
}
