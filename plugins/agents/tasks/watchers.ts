/** Most that hear of one task. */
const MAX_PER_TASK = 256

/** Who wants to hear when something has become of a task. */
export class Watchers {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Returns the way to take it back. One too many hears nothing. */
  add(task: string, listener: () => void): () => void {
    const all = this.#listeners.get(task) ?? new Set()
    if (all.size >= MAX_PER_TASK) return () => undefined
    this.#listeners.set(task, all.add(listener))
    return () => {
      all.delete(listener)
      if (all.size === 0 && this.#listeners.get(task) === all) this.#listeners.delete(task)
    }
  }

  tell(task: string): void {
    for (const listener of [...(this.#listeners.get(task) ?? [])]) listener()
  }

  get tasks(): readonly string[] {
    return [...this.#listeners.keys()]
  }
}
