import type { ProcessPermit } from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import type { Connection } from './connection/connection.ts'

/** Connections of one supervisor that are being ended, and the right of each connection's process to run. */
export class LeavingConnections {
  readonly #leaving = new Map<Connection, Promise<void>>()
  readonly #permits = new Map<Connection, ProcessPermit>()

  get all(): Connection[] {
    return [...this.#leaving.keys()]
  }

  /** Notes the right under which a connection's process runs. */
  permit(connection: Connection, permit: ProcessPermit | undefined): void {
    if (permit !== undefined) this.#permits.set(connection, permit)
  }

  /** Ends a connection at once. */
  close(connection: Connection | undefined, reason: Reason): void {
    if (connection !== undefined)
      this.#watch(
        connection,
        this.#end(connection, () => connection.close(reason)),
      )
  }

  /** Ends a connection that is of no use any more; what is under way over HTTP ends by itself. */
  retire(connection: Connection, reason: Reason): void {
    this.#watch(
      connection,
      this.#end(connection, () => connection.retire(reason)),
    )
  }

  /** Ends a connection with its last call. */
  drain(connection: Connection, reason: Reason): void {
    this.#watch(
      connection,
      connection.use.free().then(() => this.#end(connection, () => connection.close(reason))),
    )
  }

  async done(): Promise<void> {
    await Promise.all(this.#leaving.values())
  }

  #end(connection: Connection, end: () => Promise<void>): Promise<void> {
    this.#permits.get(connection)?.leaving()
    return end()
  }

  #watch(connection: Connection, left: Promise<void>): void {
    const leaving = left.finally(() => {
      if (this.#leaving.get(connection) === leaving) this.#leaving.delete(connection)
      this.#permits.get(connection)?.ended()
      this.#permits.delete(connection)
    })
    this.#leaving.set(connection, leaving)
  }
}
