import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ConnectionOptions } from 'node:tls'
import type { Config, ListenerConfig } from '../config/config.gen.ts'
import type { ClientCertificate, Gate, Refusal } from './gate.ts'
import type { Clock, Log } from './plugin.ts'

/** An entrance for clients. */
export interface Listener {
  readonly name: string
  readonly type: string
  /** URL at which it can be reached, after `start`; undefined for a pipe. */
  readonly url: string | undefined
  /** Bytes that are held for its clients now. */
  readonly bufferedBytes?: number
  /** Resolves when a listener that has only one client has lost it. */
  readonly ended?: Promise<void>
  start(): Promise<void>
  /**
   * Takes over another spec while it listens, with all who are connected; false when another one must take its place.
   * @throws GatewayError when the spec is not fit for it; nothing has changed then.
   */
  reconfigure?(spec: ListenerConfig, config: Config, authenticates: boolean): boolean
  /** Stops accepting, lets what is open end within `graceMs`, then cuts it. */
  stop(graceMs: number): Promise<void>
  /** Asks again whose the open conversations are, and ends those that are nobody's any more. */
  recheckCallers?(): void
}

/** Dependencies of a listener: the gate that its requests go to, and what is around it. */
export interface ListenerContext {
  readonly name: string
  /** Directory that relative paths of the configuration are relative to. */
  readonly directory: string
  readonly log: Log
  readonly clock: Clock
  readonly gate: Gate
  /** True if a plugin finds out who its clients are. */
  readonly authenticates: boolean
  /** The other processes that have clients of this one; absent where there are none. */
  readonly peers?: PeerDirectory | undefined
}

/** Names and keys of what several processes of one gateway can open. Read each time: they may change. */
export interface SealingKeys {
  /** The first closes, all open. */
  readonly keys: readonly Uint8Array[]
  /** Name of this process in what it alone can use: `r` and sixteen hex digits. */
  readonly replicaId: string
}

/** Facts of a request that only the process knows that took it. */
export interface ForwardedRequest {
  readonly listener: string
  readonly remoteAddress: string | undefined
  readonly certificate?: ClientCertificate | undefined
}

/** Another process, which has what a request is about. */
export interface Peer {
  /** Address at which it takes requests of other processes. */
  readonly address: { readonly host: string; readonly port: number }
  /** Certificates of the connection; absent for plain HTTP. */
  readonly tls?: ConnectionOptions | undefined
  /** Aborts when the process is known to be dead. */
  readonly deathSignal?: AbortSignal | undefined
  /** Returns the text of a header that proves that a process of this gateway sends the request. */
  signForwarded(request: IncomingMessage, handed: ForwardedRequest): string
}

/** Process that has what a request is about: this one, another one, or unknown for now. */
export type PeerLookup = 'here' | Peer | Refusal

/** Answers a request that another process took and this one owns. */
export type ServeForwarded = (
  request: IncomingMessage,
  response: ServerResponse,
  handed: ForwardedRequest,
) => void

/** Processes that accept for the same clients. What one of them keeps has an id that names it. */
export interface PeerDirectory {
  readonly sealing: SealingKeys
  /** Creates the id of a session that this process keeps. */
  createSessionId(): string
  /** Lets other processes send requests to a listener. */
  registerListener(listener: string, serve: ServeForwarded): void
  /** Finds the process that a value names; `session` is the id that named it. `here` if it is dead or unknown. */
  findPeer(place: string, session?: string): PeerLookup | Promise<PeerLookup>
}
