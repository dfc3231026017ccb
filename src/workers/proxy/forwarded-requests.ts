import { randomBytes } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type {
  BesideOthers,
  Handed,
  Neighbour,
  Neighbours,
  Sealing,
  Sought,
  Whereabouts,
} from '../../api/index.ts'
import { sessionPrefix } from '../../protocol/places.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { HANDED } from '../../listeners/http/hand-on.ts'
import { refusal } from '../../listeners/http/request-guard.ts'
import { listenAt, socketOf, type Place } from '../socket-directory.ts'
import { placeOf, whoseSession } from '../affinity.ts'

const { createServer } = process.getBuiltinModule('node:http')

/** Header limits: those of a listener, with room for our own header. */
const MAX_HEADER_BYTES = 32 * 1024
const MAX_HEADERS = 130
/** No session, and no worker that could have one. */
const GONE = refusal(
  404,
  'Session not found: it ended or never was; call initialize again',
  RPC.legacyNoSession,
)

interface OfWorker {
  readonly number: number
  readonly count: number
  readonly place: Place
  /** Of the seal that all workers share. */
  readonly key: Uint8Array
}

/** Whole HTTP requests that arrive at one worker and belong to a session of another. Their callers are asked who they are there. */
export class HandedRequests implements Neighbours {
  readonly sealing: Sealing
  readonly #worker: OfWorker
  readonly #listeners = new Map<string, BesideOthers>()
  readonly #server: Server

  constructor(worker: OfWorker) {
    this.#worker = worker
    this.sealing = { keys: [Buffer.from(worker.key)], place: placeOf(worker.number) }
    const options = { requestTimeout: 0, keepAliveTimeout: 0, maxHeaderSize: MAX_HEADER_BYTES }
    this.#server = createServer(options, (request, response) => this.#take(request, response))
    this.#server.maxHeadersCount = MAX_HEADERS
  }

  newId(): string {
    return sessionPrefix(this.sealing.place) + randomBytes(24).toString('base64url')
  }

  start(): Promise<void> {
    return listenAt(this.#server, socketOf(this.#worker.place, this.#worker.number, 'http'))
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  join(listener: string, beside: BesideOthers): Sought {
    this.#listeners.set(listener, beside)
    const { number, count } = this.#worker
    return {
      conversation: (id): Whereabouts => {
        const whose = whoseSession(id)
        if (whose === undefined || whose === number || whose < 1 || whose > count) return 'here'
        return this.#neighbour(whose)
      },
    }
  }

  #neighbour(whose: number): Neighbour {
    const { place } = this.#worker
    return {
      address: { socketPath: socketOf(place, whose, 'http') },
      voucher: (_, handed) => `${place.token}.${Buffer.from(JSON.stringify(handed)).toString('base64url')}`,
      refused: () => GONE,
    }
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { rawHeaders, socket } = request
    const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name === HANDED)
    const [, said = ''] = at < 0 ? [] : rawHeaders.splice(at, 2)
    const [token, about = ''] = said.split('.')
    if (token !== this.#worker.place.token) return void socket.destroy()
    const handed = JSON.parse(Buffer.from(about, 'base64url').toString()) as Handed
    const beside = this.#listeners.get(handed.listener)
    if (beside === undefined) return void socket.destroy()
    beside.serve(request, response, handed)
  }
}
