import { KINDS } from '../../protocol/methods.ts'
import type { Graph } from '../types.ts'
import { onlooker } from '../onlooker.ts'

/** Changes within this time are one. */
const GATHER_MS = 50

/** Asks servers that are remembered for what they list now, so that what is saved is true though no client asks. */
export class ListSaver {
  readonly #graph: Graph
  readonly #due = new Set<string>()

  constructor(graph: Graph) {
    this.#graph = graph
  }

  /** An upstream may list something else than it did. */
  listsChanged(name: string): void {
    const { upstreams, clock } = this.#graph
    if (this.#due.has(name) || upstreams.get(name)?.upstream.memory === undefined) return
    this.#due.add(name)
    clock.after(GATHER_MS, () => {
      this.#due.delete(name)
      this.#ask(name)
    })
  }

  #ask(name: string): void {
    const { upstreams, catalog } = this.#graph
    // One that went to sleep meanwhile is not woken for it.
    if (upstreams.get(name)?.upstream.state !== 'ready') return
    const session = onlooker(this.#graph.identity())
    for (const kind of KINDS) void catalog.part(name, kind, session).catch(() => undefined)
  }
}
