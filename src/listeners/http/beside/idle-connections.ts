import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, ConnectionTaker, Gate, MovePermit, Moves, Neighbours } from '../../../api/index.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'

/** Requests in a row that name one other process before a connection moves there, by the moves that it has made. */
const RUNS: readonly (number | undefined)[] = [2, 8, 32]
/** Most time between two requests of a row: who pauses gains nothing, and may pause for too long after the move. */
const BUSY_MS = 2000
/** Time for which a permit is good. */
const PERMIT_MS = 1000
/** Pause before a process is asked again that wants no connection. */
const REFUSED_MS = 5000
/** Connections on their way at a time. The others wait for their next request. */
const MOST_UNDER_WAY = 16
/** Part of the connections that a process may have up to which it takes some of others: the rest is for new ones. */
const MOST_TAKEN = 0.75
/** Places that are remembered. */
const MOST_PLACES = 256
/** Time that a connection stays open beyond what its client was told, so that no request crosses with its end. */
const BEYOND_MS = 1000
/** Less than Node gives a new connection for its first request: its client must hear of no timeout that it did not cause. */
const FIRST_REQUEST_MS = 8000

/** Course of one connection. */
interface Journey {
  readonly moves: number
  /** Process that the last requests named. */
  place: string | undefined
  /** Requests in a row that named it. */
  run: number
  /** Time of its last request. */
  at: number
  /** False as long as the request that arrived last named none. */
  hasNamed: boolean
  /** True if more than the request that arrived last was read, or may have been. */
  isAhead: boolean
  /** True once the first byte of a request was read here. */
  hasBegun: boolean
}

/** A permit, or the refusal of one. */
interface Answer {
  readonly permit: MovePermit | undefined
  readonly until: number
}

/** A connection as Node's HTTP server has it; what it does not document is looked for, and may be absent. */
interface ServerSocket {
  _handle?: { readonly writeQueueSize?: number; readStop?(): number } | null
  /** Calls what stands at this number when the first byte of a request is read. */
  readonly parser?: { constructor: { readonly kOnMessageBegin?: unknown }; [begins: number]: unknown } | null
  readonly _httpMessage?: unknown
}

/** Server as `node:net` has it. */
interface AcceptingServer {
  readonly _handle?: { onconnection?(status: number, handle: object): void } | null
  readonly _connections?: number
}

/** Part of the neighbours that says who this process is, and hears of connections that move. */
type Beside = Pick<Neighbours, 'sealing' | 'moved'>

/** State of the listener that decides what may move. */
interface ListenerState {
  readonly name: string
  readonly clock: Clock
  readonly gate: Pick<Gate, 'isDraining' | 'admit'>
  readonly settings: { readonly maxConnections: number }
  readonly isStopping: boolean
}

/**
 * Gives connections that are idle to the process whose conversation their last requests named, so that the next ones need not be
 * handed on. Nothing of a connection is lost: what its client sends meanwhile waits in the system.
 */
export class IdleConnections implements ConnectionTaker {
  readonly #context: ListenerState
  readonly #server: Server
  readonly #moves: Moves
  readonly #neighbours: Beside
  readonly #journeys = new WeakMap<Socket, Journey>()
  readonly #answers = new BoundedMap<string, Answer>({ max: MOST_PLACES })
  readonly #leave: () => void
  #underWay = 0

  constructor(context: ListenerState, server: Server, moves: Moves, neighbours: Beside) {
    this.#context = context
    this.#server = server
    this.#moves = moves
    this.#neighbours = neighbours
    this.#leave = moves.join(context.name, this)
  }

  stop(): void {
    this.#leave()
  }

  /** Notes that the head of a request has been read. */
  arrived(socket: Socket): void {
    const journey = this.#journeys.get(socket)
    if (journey === undefined) return
    const now = this.#context.clock.now()
    if (!journey.hasNamed || now - journey.at > BUSY_MS) journey.run = 0
    journey.at = now
    journey.hasNamed = false
    journey.isAhead = false
  }

  /** Notes which process the request belongs to that is handed on now. */
  named(socket: Socket, place: string): void {
    const journey = this.#journeys.get(socket) ?? this.#begin(socket, 0)
    if (journey.place !== place) journey.run = 1
    else if (!journey.hasNamed) journey.run++
    journey.place = place
    journey.hasNamed = true
    if (isDue(journey)) this.#ask(place)
  }

  /** Gives a connection away that has nothing to do, where it would be better placed elsewhere. */
  settled({ req: { socket, complete } }: ServerResponse): void {
    const journey = this.#journeys.get(socket)
    // Whatever is answered before it was read to its end has bytes on the way that are no request.
    if (!complete || journey?.hasNamed !== true || journey.isAhead || !isDue(journey)) return
    const permit = this.#permitFor(journey)
    const handle = permit === undefined ? undefined : detach(socket)
    if (permit === undefined || handle === undefined) return
    this.#underWay++
    this.#neighbours.moved?.('given')
    const done = (): void => void this.#underWay--
    void permit.give(handle, journey.moves + 1).then(done, done)
  }

  #permitFor({ place = '' }: Journey): MovePermit | undefined {
    const answer = this.#answers.get(place)
    if (answer?.permit === undefined || answer.until <= this.#context.clock.now()) return undefined
    return this.#isLeaving || this.#underWay >= MOST_UNDER_WAY ? undefined : answer.permit
  }

  isReady(place: string): boolean {
    const { _handle: handle, _connections: connections = Infinity } = this.#server as AcceptingServer
    return (
      typeof handle?.onconnection === 'function' &&
      place === this.#neighbours.sealing.place &&
      !this.#isLeaving &&
      connections < this.#context.settings.maxConnections * MOST_TAKEN &&
      this.#context.gate.admit(this.#context.name) === undefined
    )
  }

  /** Takes a connection exactly as the server takes what it accepts, with all its bounds. */
  take(handle: object, moves: number): void {
    this.#neighbours.moved?.('taken')
    this.#accept(handle, moves, this.#context.clock.now() + this.#server.keepAliveTimeout + BEYOND_MS)
  }

  /**
   * Accepts a connection that may be idle for as long as its client was told. Node expects a request of what it accepts soon, so
   * that one without any is accepted anew before it complains.
   */
  #accept(handle: object, moves: number, until: number): void {
    const { clock } = this.#context
    const opened = (socket: Socket): void => {
      const journey = this.#begin(socket, moves)
      const forget = clock.after(FIRST_REQUEST_MS, () => {
        if (journey.hasBegun) return
        const free = clock.now() < until && !this.#isLeaving ? detach(socket) : undefined
        if (free === undefined) socket.destroy()
        // As the system gives it: what the last server knew of it is over.
        else this.#accept(Object.assign(free, { _consumed: false, reading: false }), moves, until)
      })
      socket.on('close', forget)
    }
    const server = this.#server as Server & AcceptingServer
    server.once('connection', opened)
    server._handle?.onconnection?.(0, handle)
    // One that is too much was closed, and the server says nothing of it.
    server.off('connection', opened)
  }

  #begin(socket: Socket, moves: number): Journey {
    const { parser } = socket as unknown as ServerSocket
    const begins = parser?.constructor.kOnMessageBegin
    const isSeen = parser && typeof begins === 'number'
    const about = { place: undefined, run: 0, at: this.#context.clock.now(), hasNamed: false, isAhead: true }
    // Without a word of what is read ahead the connection stays.
    const journey: Journey = { ...about, moves: isSeen ? moves : RUNS.length, hasBegun: !isSeen }
    if (isSeen) parser[begins] = () => (journey.isAhead = journey.hasBegun = true)
    this.#journeys.set(socket, journey)
    return journey
  }

  get #isLeaving(): boolean {
    return this.#context.isStopping || this.#context.gate.isDraining
  }

  /** Asks for a permit ahead, as a client that has its answer may send its next request at once. */
  #ask(place: string): void {
    if (this.#isLeaving) return
    const now = this.#context.clock.now()
    const known = this.#answers.get(place)
    if (known !== undefined && known.until > now) return
    // A permit is asked for once at a time.
    this.#answers.set(place, { permit: undefined, until: now + REFUSED_MS })
    this.#moves.ask(place, this.#context.name).then(
      permit => {
        const lifeMs = permit === undefined ? REFUSED_MS : PERMIT_MS
        this.#answers.set(place, { permit, until: this.#context.clock.now() + lifeMs })
      },
      () => undefined,
    )
  }
}

function isDue({ moves, run }: Journey): boolean {
  const needed = RUNS[moves]
  return needed !== undefined && run >= needed
}

/**
 * Takes the connection of a socket away from it, where nothing is under way on it: nothing of a request was read, and
 * nothing of an answer waits. The socket ends as if its connection had closed, so that all who count it count it out.
 */
function detach(socket: Socket): object | undefined {
  if (socket.destroyed || socket.writableEnded || socket.readableEnded || socket.writableLength > 0)
    return undefined
  const inside = socket as unknown as ServerSocket
  const { _handle: handle } = inside
  if (handle?.readStop === undefined || handle.writeQueueSize !== 0) return undefined
  if (inside._httpMessage) return undefined
  handle.readStop()
  inside._handle = null
  socket.destroy()
  return handle
}
