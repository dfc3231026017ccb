import { gatewayError } from '../../errors/errors.ts'
import { RpcPeer } from '../../protocol/rpc-peer.ts'
import { readFailure, writeFailure } from './serialize.ts'

/** One end of the channel between the primary and a worker. Values are cloned on their way. */
export interface Port {
  /** `handle` is a connection that goes along. It is still to be closed here. */
  send(message: object, handle?: object): void
  onMessage(listener: (message: unknown, handle?: object) => void): void
}

/** Does what the other end asks for. */
export type Serve = (what: string, value: unknown, handle?: object) => Promise<unknown>

interface Message {
  readonly ask?: number
  readonly what?: string
  readonly value?: unknown
  readonly answer?: number
  readonly failure?: { readonly code?: unknown; readonly fields?: Record<string, unknown> }
}

interface Waiting {
  resolve(value: unknown): void
  reject(failure: unknown): void
}

/** Requests between the primary and a worker that are about the gateway and no message of a client. */
export class Channel {
  readonly #port: Port
  readonly #requests = new RpcPeer<Waiting>({ sent: Infinity, received: 0 })
  #isClosed = false

  constructor(port: Port, serve: Serve) {
    this.#port = port
    port.onMessage((message, handle) => this.#hear(message as Message, serve, handle))
  }

  /** @throws GatewayError what the other end threw; GW_WORKER_GONE when it has ended. */
  request(what: string, value?: unknown, handle?: object): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(gatewayError('GW_WORKER_GONE'))
    const ask = this.#requests.nextId()
    return new Promise((resolve, reject) => {
      this.#requests.send(ask, { resolve, reject })
      this.#port.send({ ask, what, value }, handle)
    })
  }

  /** The other end is gone. */
  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#requests.end().sent) reject(gatewayError('GW_WORKER_GONE'))
  }

  #hear({ ask, what, value, answer, failure }: Message, serve: Serve, handle?: object): void {
    if (ask !== undefined) {
      void serve(String(what), value, handle).then(
        done => this.#say({ answer: ask, value: done }),
        (thrown: unknown) => this.#say({ answer: ask, failure: writeFailure(thrown) }),
      )
      return
    }
    if (answer === undefined) return
    const waiting = this.#requests.answered(answer)
    if (failure === undefined) waiting?.resolve(value)
    else waiting?.reject(readFailure(failure))
  }

  #say(message: object): void {
    if (!this.#isClosed) this.#port.send(message)
  }
}
