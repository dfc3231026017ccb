import type { ConnectionTaker, MovePermit, Moves } from '../api/index.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Asks the primary. */
type Ask = (what: string, value: unknown, handle?: object) => Promise<unknown>

/** A connection as the system has it. */
interface Handle {
  close?(): void
}

/** Place and listener that a connection may go to. */
export interface Aim {
  readonly place: string
  readonly listener: string
}

/** A connection on its way. */
export interface Given extends Aim {
  /** Number of the worker that takes it. */
  readonly to: number
  /** Times that it was given away, this one among them. */
  readonly moves: number
}

/** Connections that a worker gives to others, by way of the primary, and takes from them. */
export class WorkerMoves implements Moves {
  readonly #ask: Ask
  readonly #takers = new Map<string, ConnectionTaker>()

  constructor(ask: Ask) {
    this.#ask = ask
  }

  async ask(place: string, listener: string): Promise<MovePermit | undefined> {
    const aim: Aim = { place, listener }
    const to = await this.#ask('move?', aim)
    if (typeof to !== 'number') return undefined
    return { give: (handle, moves) => this.#give({ ...aim, to, moves }, handle) }
  }

  join(listener: string, taker: ConnectionTaker): () => void {
    this.#takers.set(listener, taker)
    return () => {
      if (this.#takers.get(listener) === taker) this.#takers.delete(listener)
    }
  }

  /** Tells the primary if this is the worker that takes a connection. */
  isReady({ place, listener }: Aim): boolean {
    return this.#takers.get(listener)?.isReady(place) === true
  }

  /** Takes a connection of another worker; closes it where there is nobody for it any more. */
  take({ place, listener, moves }: Given, handle: object | undefined): void {
    const taker = this.#takers.get(listener)
    if (handle === undefined) return
    if (taker?.isReady(place) === true) taker.take(handle, moves)
    else close(handle)
  }

  /** Its own end is open until the other has it: what is on its way counts as nobody's on some systems. */
  async #give(given: Given, handle: object): Promise<void> {
    await this.#ask('move', given, handle).catch(() => undefined)
    close(handle)
  }
}

/** Finds the worker among these that takes connections for this place; undefined where none does. */
export async function findTaker(
  workers: readonly WorkerProcess[],
  aim: unknown,
): Promise<number | undefined> {
  const said = await Promise.all(
    workers.map(async worker => {
      const isReady = await worker.request('takes?', aim).catch(() => false)
      return isReady === true ? worker.number : undefined
    }),
  )
  return said.find(number => number !== undefined)
}

/** Passes a connection on to the worker that it is for. It closes where that has gone. */
export async function passOn(
  workers: readonly WorkerProcess[],
  given: unknown,
  handle: object | undefined,
): Promise<void> {
  if (handle === undefined) return
  const { to } = given as Given
  const worker = workers.find(({ number }) => number === to)
  await worker?.request('take', given, handle).catch(() => undefined)
  close(handle)
}

function close(handle: Handle): void {
  handle.close?.()
}
