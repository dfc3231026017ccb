import type { ProcessPermit } from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import type { Link } from './connection/connection.ts'

/** Links of one supervisor that are being ended, and the right of each link's process to run. */
export class LeavingLinks {
  readonly #leaving = new Map<Link, Promise<void>>()
  readonly #permits = new Map<Link, ProcessPermit>()

  get links(): Link[] {
    return [...this.#leaving.keys()]
  }

  /** Notes the right under which a link's process runs. */
  permit(link: Link, permit: ProcessPermit | undefined): void {
    if (permit !== undefined) this.#permits.set(link, permit)
  }

  /** Ends a link at once. */
  close(link: Link | undefined, reason: Reason): void {
    if (link !== undefined)
      this.#watch(
        link,
        this.#end(link, () => link.close(reason)),
      )
  }

  /** Ends a link that is of no use any more; what is under way over HTTP ends by itself. */
  retire(link: Link, reason: Reason): void {
    this.#watch(
      link,
      this.#end(link, () => link.retire(reason)),
    )
  }

  /** Ends a link with its last call. */
  drain(link: Link, reason: Reason): void {
    this.#watch(
      link,
      link.use.free().then(() => this.#end(link, () => link.close(reason))),
    )
  }

  async done(): Promise<void> {
    await Promise.all(this.#leaving.values())
  }

  #end(link: Link, end: () => Promise<void>): Promise<void> {
    this.#permits.get(link)?.leaving()
    return end()
  }

  #watch(link: Link, left: Promise<void>): void {
    const leaving = left.finally(() => {
      if (this.#leaving.get(link) === leaving) this.#leaving.delete(link)
      this.#permits.get(link)?.ended()
      this.#permits.delete(link)
    })
    this.#leaving.set(link, leaving)
  }
}
