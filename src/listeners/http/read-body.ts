import type { IncomingMessage, ServerResponse } from 'node:http'
import { mostParsed, parsedSize } from '../../protocol/json/scan.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { refusal, tooLarge, type Refusal } from './request-guard.ts'
import { clientKey, type HeldBytes, Hold, SMALL } from '../../transport/backlog.ts'
import type { RequestHeaders } from './request-headers.ts'
import { Gathered, release } from '../../transport/gathered.ts'
import { sendRefusal } from './response.ts'

/** Bytes of a refused body that are swallowed, in bodies' limits, so that its sender still reads why. */
const PATIENCE = 8

/** A body up to here is small with its values too. */
const UNWEIGHED = 2 * 1024

/** So many names and values are little, whatever they are. */
const FEW = 1024

/** A request whose body nobody wants. */
interface Unwanted {
  readonly context: { readonly settings: { readonly maxBody: number } }
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
      swallow(owner)
      resolve(why)
    }
    const read = (chunk: Buffer): void => {
      const length = text.length + chunk.length
      if (length > maxBody) return giveUp('too large')
      if (!room.reach(length)) return giveUp('no room')
      text.push(chunk)
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
      resolve(body)
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

/** Refuses a request whose body nobody wants. */
export function refuseUnread(unwanted: Unwanted, refused: Refusal): void {
  swallow(unwanted)
  sendRefusal(unwanted.response, refused)
}

/** Reads a body that nobody wants, up to a bound: to cut it immediately would take our answer with it. */
function swallow({ context, request }: Pick<Unwanted, 'context' | 'request'>): void {
  const most = context.settings.maxBody * PATIENCE
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length > most) request.destroy()
  })
}
