/** What can be ended on the spot. */
interface Killable {
  kill(): void
}

/** The processes of one graph, so that none outlives the gateway, however it ends. */
export class ProcessTable {
  readonly #running = new Set<Killable>()
  #whenEmpty: (() => void) | undefined

  add(process: Killable): void {
    this.#running.add(process)
  }

  delete(process: Killable): void {
    this.#running.delete(process)
    this.#check()
  }

  /** The last resort: works without an event loop, so that it can run while the gateway exits. */
  killAll(): void {
    for (const process of this.#running) process.kill()
  }

  /** Runs `callback` once nothing is left to kill. */
  whenEmpty(callback: () => void): void {
    this.#whenEmpty = callback
    this.#check()
  }

  #check(): void {
    if (this.#running.size > 0) return
    this.#whenEmpty?.()
    this.#whenEmpty = undefined
  }
}
