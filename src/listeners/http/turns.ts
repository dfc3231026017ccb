import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientKey } from '../../transport/backlog.ts'
import { loopTurns } from '../../transport/loop-turns.ts'
import type { RequestHeaders } from './request-headers.ts'

/** Requests that wait before their connections are paused: below, a pause costs more than what it keeps from coming. */
const MANY = 64

/** A request, and who sent it. */
interface Owner {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly headers: Pick<RequestHeaders, 'caller'>
}

/** True if a request, or the body of it, is to be handled now: it is its caller's turn, or nobody has to wait for one. */
export function isInTurn(owner: Owner): boolean {
  return loopTurns.mayRun(callerOf(owner))
}

/** Handles a request when it is its caller's turn, unless the client has gone by then. Where many wait, nothing is read from its connection meanwhile. */
export function afterTurn<T>(owner: Owner, work: () => T | Promise<T>): Promise<T | undefined> {
  const { request, response } = owner
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
    loopTurns.wait(callerOf(owner), { run })
  })
}

/** Has the rest of a body wait for its caller's turn, after a read of it that began then and was large. */
export function readOnInTurn(owner: Owner, began: number): void {
  loopTurns.readInTurn(callerOf(owner), began, owner.request)
}

function callerOf({ request, headers }: Owner): string {
  return clientKey(headers.caller, request.socket.remoteAddress)
}
