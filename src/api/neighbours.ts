import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ConnectionOptions } from 'node:tls'
import type { ClientCertificate, Refusal } from './gate.ts'

/** Names and keys of what several processes of one gateway can open. Read each time: they may change. */
export interface Sealing {
  /** The first closes, all open. */
  readonly keys: readonly Uint8Array[]
  /** Name of this process in what it alone can use: `r` and sixteen hex digits. */
  readonly place: string
}

/** Facts of a request that only the process knows that took it. */
export interface Handed {
  readonly listener: string
  readonly remoteAddress: string | undefined
  readonly certificate?: ClientCertificate | undefined
}

/** Another process, which has what a request is about. */
export interface Neighbour {
  /** Address at which it takes requests of other processes. */
  readonly address: { readonly host: string; readonly port: number }
  /** Certificates of the connection; absent for plain HTTP. */
  readonly tls?: ConnectionOptions | undefined
  /** Aborts when the process is known to be dead. */
  readonly gone?: AbortSignal | undefined
  /** Returns the text of a header that proves that a process of this gateway sends the request. */
  voucher(request: IncomingMessage, handed: Handed): string
}

/** Process that has what a request is about: this one, another one, or unknown for now. */
export type Whereabouts = 'here' | Neighbour | Refusal

/** Answers a request that another process took and this one owns. */
export type ServeHanded = (request: IncomingMessage, response: ServerResponse, handed: Handed) => void

/** Processes that accept for the same clients. What one of them keeps has an id that names it. */
export interface Neighbours {
  readonly sealing: Sealing
  /** Creates the id of a session that this process keeps. */
  newId(): string
  /** Lets other processes send requests to a listener. */
  join(listener: string, serve: ServeHanded): void
  /** Finds the process that a value names; `session` is the id that named it. `here` if it is dead or unknown. */
  find(place: string, session?: string): Whereabouts | Promise<Whereabouts>
}
