import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ConnectionOptions } from 'node:tls'
import type { Config, ListenerConfig } from '../config/config.gen.ts'
import type { ClientCertificate, Gate, Refusal } from './gate.ts'
import type { SharedStore } from '../util/storage/shared-store.ts'
import type { Principal } from './exchange.ts'
import type { ClientLimits, Clock, Load, Log } from './plugin.ts'

/** An address or pipe at which clients connect. */
export interface Listener {
  readonly name: string
  readonly type: string
  /** URL after `start`; undefined for a pipe. */
  readonly url: string | undefined
  /** Bytes buffered for its clients. */
  readonly bufferedBytes?: number
  /** Resolves when a single-client listener has lost its client. */
  readonly ended?: Promise<void>
  start(): Promise<void>
  /**
   * Applies a new spec without closing connections; false if a new listener is needed.
   * @throws GatewayError if the spec is invalid; nothing is changed then
   */
  reconfigure?(spec: ListenerConfig, config: Config, authenticates: boolean): boolean
  /** Stops accepting, waits `graceMs` for open requests, then closes all connections. */
  stop(graceMs: number): Promise<void>
  /** Authenticates open conversations again, and ends the refused ones. */
  recheckCallers?(): void
}

/** Listener dependencies. */
export interface ListenerContext {
  readonly name: string
  /** Base for relative paths. */
  readonly directory: string
  readonly log: Log
  readonly clock: Clock
  readonly gate: Gate
  /** True if a plugin authenticates its clients. */
  readonly authenticates: boolean
  /** Peer processes that serve the same clients; absent if there are none. */
  readonly peers?: PeerDirectory | undefined
}

/** Keys for sealed ids and cursors that all replicas can open. Read them each time, as they rotate. */
export interface SealingKeys {
  /** The first key seals; all keys open. */
  readonly keys: readonly Uint8Array[]
  /** This replica's id: `r` and sixteen hex digits. */
  readonly replicaId: string
}

/** Facts about a forwarded request, known to the receiving replica only. */
export interface ForwardedRequest {
  readonly listener: string
  readonly remoteAddress: string | undefined
  readonly certificate?: ClientCertificate | undefined
}

/** Another replica that owns a request. */
export interface Peer {
  /** Address for forwarded requests. */
  readonly address: { readonly host: string; readonly port: number }
  /** Certificates; absent for plain HTTP. */
  readonly tls?: ConnectionOptions | undefined
  /** Aborts when the replica is dead. */
  readonly deathSignal?: AbortSignal | undefined
  /** Returns the header value that proves that a replica of this gateway sends the request. */
  signForwarded(request: IncomingMessage, handed: ForwardedRequest): string
}

/** Request owner: this process, a peer, or a refusal while unknown. */
export type PeerLookup = 'here' | Peer | Refusal

/** Answers a forwarded request that this process owns. */
export type ServeForwarded = (request: IncomingMessage, response: ServerResponse, handed: ForwardedRequest) => void

/** Replicas that serve the same clients. Ids name the replica that owns their state. */
export interface PeerDirectory {
  readonly sealing: SealingKeys
  /** Live replicas at the last refresh, including this one. */
  readonly replicas?: readonly { readonly id: string; readonly address: string }[]
  /** Creates a session id for this replica. */
  createSessionId(): string
  /** Registers a listener for forwarded requests. */
  registerListener(listener: string, serve: ServeForwarded): void
  /** Finds the replica by id; `session` is the session id that named it. `here` if it is dead or unknown. */
  findPeer(replicaId: string, session?: string): PeerLookup | Promise<PeerLookup>
}

/** Objects that plugins provide to the gateway and to each other. */
export interface Services {
  /** Peer processes that serve the same gateway. */
  readonly peers?: PeerDirectory
  /** Store that this process shares with its peers. */
  readonly store?: SharedStore
  readonly admission?: Admission
  /** Finds the caller that the owner names in a command. */
  readonly findCaller?: (name: string) => Principal | undefined
  /** Returns a client program's limits by its unverified name. */
  readonly getClientLimits?: (name: string) => ClientLimits
}

/** Protects the process from overload. */
export interface Admission {
  /**
   * Decides about a request before it is read: a refusal answers it, and `close` closes the connection after its
   * answer. Over HTTP it gets the path.
   */
  readonly admit: (listener: string, path?: string) => Refusal | 'close' | undefined
  /** Describes the process load, for `gateway ps`. */
  readonly getLoad?: () => Partial<Load>
}
