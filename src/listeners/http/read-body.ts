import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../api/index.ts'
import { mostParsed, parsedSize } from '../../protocol/json/scan.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { refusal, tooLarge, type Refusal } from './request-guard.ts'
import { clientKey, type HeldBytes, Hold, SMALL } from '../../transport/backlog.ts'
import type { RequestHeaders } from './request-headers.ts'
import { Gathered, release } from '../../transport/gathered.ts'
import type { Allowance } from '../../transport/allowance.ts'
import { LARGE_READ, readInTurns } from '../../transport/read-in-turns.ts'
import { Valve } from '../../transport/wasted.ts'
import { sendRefusal } from './response.ts'
import { afterTurn, isInTurn, readOnInTurn } from './turns.ts'

const MIB = 1024 * 1024

/** Bytes of a refused body that are swallowed, in bodies' limits, so that its sender still reads why. */
const PATIENCE = 8

/** Bytes of refused bodies that are read together. Some of 64 KiB are as much work as a small call. */
export const REFUSED_RATE = { atOnce: 16 * MIB, perSecond: 64 * MIB }

/** Connections on which the rest of a refused body waits to be read: of all, and of one address. */
export const LINGERING = { total: 512, each: 128 }

/** Whoever sends bodies that nobody wants shares the turns of one caller. */
const REFUSED = 'refused bodies'

/** A body up to here is small with its values too. */
const UNWEIGHED = 2 * 1024

/** So many names and values are little, whatever they are. */
const FEW = 1024

/** A request whose body nobody wants. */
interface Unwanted {
  readonly context: {
    readonly clock: Clock
    readonly settings: { readonly maxBody: number }
    readonly refused: Allowance
    readonly lingering: HeldBytes
  }
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The request that a body belongs to. */
interface BodyOwner extends Unwanted {
  readonly context: Unwanted['context'] & { readonly bodies: HeldBytes }
  readonly headers: Pick<RequestHeaders, 'caller' | 'own'>
  /** Room that its body takes, from when that is asked for. */
  room?: Room
}

/** Reasons not to read a body: it is larger than may be, there is no room for it now, or the client went away. */
type Unread = 'too large' | 'no room' | 'gone'

const NO_ROOM: Refusal = {
  ...refusal(503, 'Too much is being read at the moment; try again', RPC.internal),
  headers: { 'retry-after': '1' },
}

export function refusalOf(unread: Exclude<Unread, 'gone'>, max: number): Refusal {
  return unread === 'too large' ? tooLarge(max) : NO_ROOM
}

/** Part of the room that the body of a request takes. */
export function roomOf(owner: BodyOwner): Room {
  return (owner.room ??= new Room(owner))
}

/** Claims room for a body whose length its request says, before it comes; the reason not to read it, where there is one. */
export function announce(owner: BodyOwner): Exclude<Unread, 'gone'> | undefined {
  const announced = announcedBy(owner)
  if (announced > owner.context.settings.maxBody) return 'too large'
  return roomOf(owner).reach(announced) ? undefined : 'no room'
}

/** Bytes of a body, as its request says; 0 where it does not. */
function announcedBy({ headers }: BodyOwner): number {
  return Number(headers.own['content-length'] ?? 0)
}

/** Reads a body that may be parsed. */
export async function readBody(owner: BodyOwner): Promise<Buffer | Unread> {
  const body = await readHeld(owner)
  return typeof body === 'string' || roomOf(owner).keep(body) ? body : 'no room'
}

/**
 * Reads a body of at most `limits.body` bytes. One of some size counts as held until it is answered: from its beginning
 * where it says how long it is. While other bodies are held, its values count once it is there; whoever parses it alone keeps
 * the room for them first.
 */
export function readHeld(owner: BodyOwner): Promise<Buffer | Unread> {
  const { context, request } = owner
  const { maxBody } = context.settings
  const room = roomOf(owner)
  return new Promise(resolve => {
    const text = new Gathered(true)
    let isWhole = false
    const giveUp = (why: Unread): void => {
      request.off('data', read)
      text.forget()
      room.leave()
      if (why === 'no room') endBehind(owner)
      swallow(owner)
      resolve(why)
    }
    const read = (chunk: Buffer): void => {
      const began = chunk.length < LARGE_READ ? 0 : performance.now()
      const length = text.length + chunk.length
      if (length > maxBody) return giveUp('too large')
      if (!room.reach(length)) return giveUp('no room')
      text.push(chunk)
      if (began > 0 && length !== announced) readOnInTurn(owner, began)
    }
    const announced = announcedBy(owner)
    const unread = announce(owner)
    if (unread !== undefined) return giveUp(unread)
    if (announced > SMALL) text.reserve(announced)
    request.on('data', read)
    request.on('end', () => {
      isWhole = true
      const body = text.take()
      // To count takes a fraction of a millisecond: whoever is refused need not wait for a turn to hear so.
      if (room.isShared && !room.keep(body)) {
        release(body)
        return resolve('no room')
      }
      if (isInTurn(owner)) resolve(body)
      else void afterTurn(owner, () => resolve(body)).then(() => resolve('gone'))
    })
    // Whatever goes wrong, this follows; without a listener for errors there are none.
    request.on('close', () => {
      if (isWhole) return
      text.forget()
      resolve('gone')
    })
  })
}

/** Part of the room for all that one body takes. */
export class Room {
  readonly #owner: BodyOwner
  #hold: Hold | undefined
  #claimed = 0

  constructor(owner: BodyOwner) {
    this.#owner = owner
  }

  /** Claims room for so many bytes; false where there is none. */
  reach(bytes: number): boolean {
    if (bytes <= Math.max(this.#claimed, SMALL)) return true
    this.#hold ??= beginHold(this.#owner)
    if (!this.#hold.claim(bytes - this.#claimed)) return false
    this.#claimed = bytes
    return true
  }

  /**
   * Claims room for a whole body and its names and values, which are counted where that was not done; one alone is taken
   * whatever it holds. Nobody may end it any more to make room. False where there is none, and then it holds nothing.
   */
  keep(body: Buffer, values = Infinity): boolean {
    if (this.#hold?.isFirm === true) return true
    if (body.length > UNWEIGHED && !this.reach(body.length + this.#weigh(body, values))) {
      this.leave()
      return false
    }
    if (this.#hold !== undefined) this.#hold.isFirm = true
    return true
  }

  /** True while other bodies are held: then what one takes is better known before it is parsed. */
  get isShared(): boolean {
    return this.#owner.context.bodies.bytes > this.#claimed
  }

  /** Counts what its values take, until there is no room for them. Of few it is not worth a look at every byte. */
  #weigh(body: Buffer, values: number): number {
    const { context, request, headers } = this.#owner
    const held = context.bodies.of(clientKey(headers.caller, request.socket.remoteAddress))
    const left = Math.max(0, context.bodies.limits.each - held)
    const most = held > this.#claimed ? left + 1 : left
    return values <= FEW ? Math.min(most, mostParsed(values)) : parsedSize(body, most)
  }

  leave(): void {
    this.#hold?.end()
  }
}

function beginHold({ context, request, response, headers }: BodyOwner): Hold {
  const { socket } = request
  const hold = new Hold(context.bodies, clientKey(headers.caller, socket.remoteAddress), () =>
    socket.destroy(),
  )
  response.on('close', () => hold.end())
  return hold
}

/** Refuses a request whose body nobody wants. It is read for a while: to cut it at once would take our answer with it. */
export function refuseUnread(unwanted: Unwanted, refused: Refusal): void {
  if (refused.status === NO_ROOM.status) endBehind(unwanted)
  swallow(unwanted)
  sendRefusal(unwanted.response, refused)
}

/**
 * Says with the answer that its connection ends (RFC 9112, 9.6), so that what its client sends next is not kept waiting by a
 * body that is read slowly, and ends it once that is read. Node would end it when the answer is written, and a body that still
 * arrives would take the answer along.
 */
function endBehind({ request, response }: Unwanted): void {
  const { socket } = request
  response.shouldKeepAlive = false
  socket.destroySoon = () => void socket.end()
  request.on('end', () => {
    Reflect.deleteProperty(socket, 'destroySoon')
    if (response.writableFinished) socket.destroySoon()
  })
}

/** Reads a body that nobody wants, no faster than all of them may come together. */
function swallow({ context, request }: Pick<Unwanted, 'context' | 'request'>): void {
  const { clock, refused, settings, lingering } = context
  const flow = new Valve(request)
  let hold: Hold | undefined
  let length = 0
  readInTurns(request, REFUSED, flow)
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    const ms = refused.spend(chunk.length)
    release(chunk)
    if (length > settings.maxBody * PATIENCE) return request.destroy()
    if (ms === 0) return
    hold ??= linger(lingering, request)
    flow.pause()
    clock.after(ms, () => flow.resume())
  })
}

/**
 * Takes a place among the connections that wait. A sender that has read why and has gone is not noticed before its body is read:
 * where too many of one address wait, those end that have had most time to read.
 */
function linger(lingering: HeldBytes, request: IncomingMessage): Hold {
  const { socket } = request
  const hold = new Hold(lingering, `@${socket.remoteAddress ?? ''}`, () => socket.destroy())
  hold.become(1)
  request.on('close', () => hold.end())
  return hold
}
