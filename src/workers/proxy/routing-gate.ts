import type {
  Answer,
  Credentials,
  Gate,
  HttpReply,
  HttpRequest,
  Inbound,
  Notification,
  Principal,
  Readiness,
  Refusal,
  Running,
  Session,
  SessionInit,
} from '../../api/index.ts'
import { reasonOf } from '../../errors/errors.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { writeInbound, type Peers } from './peers.ts'
import { whoseWork } from '../affinity.ts'

/** Answers a path with what all workers say together; undefined where this one's own answer is the whole. */
export type Gather = (request: HttpRequest) => Promise<HttpReply | undefined> | undefined

/** The gate of a worker as its listeners see it: what goes on with another worker's work goes on there. */
export class RoutingGate implements Gate {
  readonly #gate: Gate
  readonly #number: number
  readonly #peers: Peers
  readonly #gather: Gather

  constructor(gate: Gate, number: number, peers: Peers, gather: Gather) {
    this.#gate = gate
    this.#number = number
    this.#peers = peers
    this.#gather = gather
  }

  get info(): Gate['info'] {
    return this.#gate.info
  }

  openSession(init: SessionInit): Promise<Session> {
    return this.#gate.openSession(init)
  }

  closeSession(session: Session, reason: string): void {
    this.#gate.closeSession(session, reason)
  }

  notified(session: Session, notification: Notification): void {
    this.#gate.notified(session, notification)
  }

  admit(listener: string): Refusal | 'close' | undefined {
    return this.#gate.admit(listener)
  }

  authenticate(credentials: Credentials): Principal | Refusal | Promise<Principal | Refusal> {
    return this.#gate.authenticate(credentials)
  }

  refused(refusal: Refusal, credentials: Credentials): void {
    this.#gate.refused(refusal, credentials)
  }

  serve(request: HttpRequest): Promise<HttpReply | undefined> | undefined {
    return this.#gather(request) ?? this.#gate.serve(request)
  }

  readiness(caller?: Principal): Readiness {
    return this.#gate.readiness(caller)
  }

  status(): ReturnType<Gate['status']> {
    return this.#gate.status()
  }

  health(): ReturnType<Gate['health']> {
    return this.#gate.health()
  }

  figures(): ReturnType<Gate['figures']> {
    return this.#gate.figures()
  }

  run(session: Session, inbound: Inbound): Running {
    const number = whoseWork(inbound)
    if (number === undefined || number === this.#number) return this.#gate.run(session, inbound)
    return this.#elsewhere(number, session, inbound)
  }

  #elsewhere(number: number, session: Session, inbound: Inbound): Running {
    const listeners = new Set<(reason: string) => void>()
    let cancelled: string | undefined
    const onCancel = (listener: (reason: string) => void): (() => void) => {
      if (cancelled !== undefined) listener(cancelled)
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
    return {
      answer: this.#ask(number, session, inbound, onCancel),
      cancel: reason => {
        cancelled ??= reason
        for (const listener of [...listeners]) listener(reason)
      },
    }
  }

  async #ask(
    number: number,
    session: Session,
    inbound: Inbound,
    onCancel: (listener: (reason: string) => void) => () => void,
  ): Promise<Answer> {
    const line = await this.#peers.lineTo(number)
    if (line === undefined) return this.#here(session, inbound, onCancel)
    const { ask } = inbound
    const emit = (notification: Notification): void => inbound.emit(notification)
    return line
      .request(writeInbound(session, inbound), { emit, ask, onCancel })
      .catch((failure: unknown) => ({ error: rpcError(RPC.internal, reasonOf(failure)) }))
  }

  /** Runs it in this worker, as the one that had it has ended: the answer is that for anything that is not there. */
  #here(
    session: Session,
    inbound: Inbound,
    onCancel: (listener: (reason: string) => void) => () => void,
  ): Promise<Answer> {
    const { answer, cancel } = this.#gate.run(session, inbound)
    onCancel(cancel)
    return answer
  }
}
