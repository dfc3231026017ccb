import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Answer, Gate, Inbound, JsonObject, Principal, Session, Via } from '../../api/index.ts'
import { seenBy } from '../../core/session.ts'
import { readSession, writeSession } from '../ipc/serialize.ts'
import { Line, type Served } from '../ipc/rpc.ts'
import { listenAt, socketOf, type Place } from '../socket-directory.ts'

/** The lines between workers: what one of them holds is taken up again there, wherever its client comes back. */
export class Peers {
  readonly #number: number
  readonly #place: Place
  readonly #gate: () => Gate
  readonly #lines = new Map<number, Promise<Line | undefined>>()
  readonly #open = new Set<Socket>()
  readonly #server: Server

  /** `gate` is where what others hand on goes through the pipeline. */
  constructor(number: number, place: Place, gate: () => Gate) {
    this.#number = number
    this.#place = place
    this.#gate = gate
    this.#server = createServer(socket => this.#take(socket))
  }

  start(): Promise<void> {
    return listenAt(this.#server, socketOf(this.#place, this.#number, 'line'))
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
  }

  /** The line to another worker; undefined when it is not there. */
  lineTo(number: number): Promise<Line | undefined> {
    const known = this.#lines.get(number)
    if (known !== undefined) return known
    const opened = this.#connect(number)
    this.#lines.set(number, opened)
    void opened.then(line => {
      if (line === undefined) this.#lines.delete(number)
    })
    return opened
  }

  #connect(number: number): Promise<Line | undefined> {
    return new Promise(resolve => {
      const socket = connect(socketOf(this.#place, number, 'line'))
      this.#open.add(socket)
      const closed = (): void => {
        this.#open.delete(socket)
        this.#lines.delete(number)
        resolve(undefined)
      }
      socket.once('connect', () => {
        const serve = (): Promise<Answer> => Promise.reject(new Error('nothing is asked this way'))
        const line = new Line(socket, { serve, note: () => undefined, closed })
        line.note({ token: this.#place.token })
        resolve(line)
      })
      socket.once('error', closed)
    })
  }

  #take(socket: Socket): void {
    this.#open.add(socket)
    let isKnown = false
    const line: Line = new Line(socket, {
      note: ({ token }) => {
        isKnown = token === this.#place.token
        if (!isKnown) line.close()
      },
      serve: (request, served) =>
        isKnown ? this.#run(request, served) : Promise.reject(new Error('it has not said who it is')),
      closed: () => this.#open.delete(socket),
    })
  }

  async #run(request: JsonObject, served: Served): Promise<Answer> {
    const gate = this.#gate()
    const { session: written, method, params, headers, via, remoteAddress, principal, bytes } = request
    const session = await gate.openSession({ ...readSession(written, () => false) })
    try {
      const running = gate.run(session, {
        method: String(method),
        params: params as JsonObject | undefined,
        headers: headers as Record<string, string>,
        via: via as Via,
        remoteAddress: remoteAddress as string | undefined,
        principal: principal as Principal,
        bytes: Number(bytes),
        emit: notification => served.emit(notification),
        ...(request.asks === true ? { ask: ask => served.ask(ask) } : {}),
      })
      served.onCancel(reason => running.cancel(reason))
      return await running.answer
    } finally {
      gate.closeSession(session, 'answered')
    }
  }
}

/** A request in the pipeline as another worker needs to know it. */
export function writeInbound(session: Session, inbound: Inbound): JsonObject {
  const { method, params, headers = {}, via, remoteAddress } = inbound
  const { principal = session.principal, bytes = 0, ask } = inbound
  const asks = ask !== undefined
  return {
    session: writeSession(seenBy(session, inbound)),
    method,
    params,
    headers,
    via,
    remoteAddress,
    principal,
    bytes,
    asks,
  }
}
