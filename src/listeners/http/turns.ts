import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clientKey, isAddress } from '../../transport/backlog.ts'
import { loopTurns } from '../../transport/loop-turns.ts'
import type { RequestHeaders } from './request-headers.ts'

/** Requests that wait before their connections are paused: below, a pause costs more than what it keeps from coming. */
const MANY = 64

/** A request, and who sent it. */
interface Owner {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: Pick<RequestHeaders, 'caller' | 'own'>
}

/** True if a request, or the body of it, is to be handled now: it is its caller's turn, or nobody has to wait for one. */
export function isInTurn(owner: Owner): boolean {
  return loopTurns.mayRun(callerOf(owner))
}

/**
 * Requests of one caller that wait for their turns: the next of it waits before it is looked at. Node reads a request from each
 * connection in one turn of the loop, and to find out who sent it, and whether it may, is half of the work that they then take.
 */
const MANY_OF_ONE = 4

interface LastRequest {
  readonly caller: string
  readonly authorization: string | undefined
}

/** Of each connection; behind a proxy, requests of many callers come over one. */
const lastRequests = new WeakMap<Socket, LastRequest>()

/** Notes who sent a request. */
export function noteCaller(owner: Owner): void {
  const { socket } = owner.request
  const { authorization } = owner.headers.own
  const caller = callerOf(owner)
  const last = lastRequests.get(socket)
  if (last?.caller !== caller || last.authorization !== authorization)
    lastRequests.set(socket, { caller, authorization })
}

/** The caller whose turn a request waits for before it is looked at; undefined where it need not, or may be of another. */
export function crowdOf({ socket, headers }: IncomingMessage): string | undefined {
  if (loopTurns.waiting < MANY_OF_ONE) return undefined
  const last = lastRequests.get(socket)
  return last !== undefined && loopTurns.waitingOf(last.caller) >= MANY_OF_ONE && isOfSame(last, headers)
    ? last.caller
    : undefined
}

/** True where the same credentials come again, or none again of a caller that nobody asks for any. */
function isOfSame({ caller, authorization }: LastRequest, headers: IncomingHttpHeaders): boolean {
  return headers.authorization === authorization && (authorization !== undefined || isAddress(caller))
}

/** Handles a request when it is its caller's turn, unless the client has gone by then. Where many wait, nothing is read from its connection meanwhile. */
export function afterTurn<T>(owner: Owner, work: () => T | Promise<T>): Promise<T | undefined> {
  return afterTurnOf(callerOf(owner), owner, work)
}

/** The same for a request of which only its connection says who sent it. */
export function afterTurnOf<T>(
  caller: string,
  { request, response }: Omit<Owner, 'headers'>,
  work: () => T | Promise<T>,
): Promise<T | undefined> {
  const { socket } = request
  const isPaused = loopTurns.waiting >= MANY
  if (isPaused) socket.pause()
  return new Promise((resolve, reject) => {
    const run = (): void => {
      if (isPaused) socket.resume()
      if (response.destroyed) return resolve(undefined)
      try {
        resolve(work())
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      }
    }
    loopTurns.wait(caller, { run })
  })
}

/** Has the rest of a body wait for its caller's turn, after a read of it that began then and was large. */
export function readOnInTurn(owner: Owner, began: number): void {
  loopTurns.readInTurn(callerOf(owner), began, owner.request)
}

function callerOf({ request, headers }: Owner): string {
  return clientKey(headers.caller, request.socket.remoteAddress)
}
