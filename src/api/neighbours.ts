import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SecureContext } from 'node:tls'
import type { RpcId } from '../protocol/jsonrpc.ts'
import type { ClientCertificate, Inbound, Refusal } from './gate.ts'
import type { Choices, Principal } from './exchange.ts'

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

/** Proof that the ends of a TLS connection give of themselves and ask of each other. */
export interface PeerProof {
  /** The own certificate, and the authorities that are trusted; another object where those were renewed. */
  readonly context: SecureContext
  /** Says why a certificate, in DER, is not that of whoever was sought; undefined where it is. */
  problemOf(certificate: Buffer): string | undefined
}

/** Another process, which has what a request is about. */
export interface Neighbour {
  /** Where it takes what is handed on. */
  readonly address: { readonly socketPath: string } | { readonly host: string; readonly port: number }
  /** Absent where requests go to it as they are. */
  readonly tls?: PeerProof | undefined
  /** Text that goes along in a header, by which the other knows that one of its own hands this on. */
  voucher(request: IncomingMessage, handed: Handed): string
  /** Tells when the other is known to have ended; returns the way to take it back. */
  onGone?(listener: () => void): () => void
  /** Says where it is now, as nobody listens there and nothing was sent. */
  refused(): Whereabouts | Promise<Whereabouts>
  /** Says where it is now, as the other answers that it is not there. */
  misdirected?(): Whereabouts | Promise<Whereabouts>
  /** Hears why no connection to it came to be. */
  unreachable?(why: Error): void
}

/** Where what a request is about is kept: here, at another process, or nowhere that can be told now. */
export type Whereabouts = 'here' | Neighbour | Refusal

/** All that another process needs to go on with a conversation. */
export interface ConversationRecord {
  readonly principal: Principal
  readonly label?: string | undefined
  readonly profile?: string | undefined
  readonly choices?: Choices | undefined
  /** Requests of the client that made it what it is, `initialize` first. */
  readonly requests: readonly Pick<Inbound, 'method' | 'params'>[]
  /** Events that its client may come back for, oldest first; absent where none are kept elsewhere. */
  readonly events?: readonly EventRecord[] | undefined
}

/** Use of an event stream: the answer of one request, or whatever belongs to none. Neither for that of a batch. */
export interface StreamUse {
  readonly request?: RpcId | undefined
  readonly isStandalone?: boolean | undefined
}

/** An event of a conversation, as another process needs it to go on with its stream. */
export interface EventRecord extends StreamUse {
  /** Larger than those of all events before. The id of the event is that of its stream, a dot, and this. */
  readonly number: number
  /** Id of its stream: no other stream of any conversation has it. */
  readonly stream: string
  /** Absent for an event that gave its reader an id alone. */
  readonly message?: Buffer | string | undefined
  /** True for the last one of its stream. */
  readonly isLast?: boolean | undefined
  /** True where there was a message that is not kept: nobody can go on from before it. */
  readonly isMissing?: boolean | undefined
}

/** Events of one conversation that the memory of this process has. */
export interface EventSource {
  /** True while a client may come back to a stream that goes on. */
  readonly isAwaited: boolean
  /** All of them, oldest first. */
  all(): readonly EventRecord[]
}

/** Copy of the events of one conversation outside this process. Nobody waits for it. */
export interface EventCopy {
  keep(event: EventRecord): void
  /** An event is no longer kept, by its number. */
  drop(number: number): void
  /** The conversation goes on elsewhere, or has ended. */
  close(): void
}

/** Keeps events of conversations where other processes find them. */
export interface EventCopies {
  copyOf(conversation: string, source: EventSource): EventCopy
}

/** The conversations of one listener that outlive their connections. */
export interface KeptConversations {
  readonly ids: Iterable<string>
  /** Time in milliseconds after which an idle one ends. */
  readonly idleMs: number
  has(id: string): boolean
  /** Goes on with one of another process; says why not where there is no room. Rejects where a plugin refuses it. */
  adopt(id: string, record: ConversationRecord): Promise<Refusal | undefined>
  /** Ends one without a word to whoever has it now. */
  drop(id: string): void
}

/** One listener as other processes see it. */
export interface BesideOthers {
  /** Answers what arrived elsewhere and belongs here. */
  serve(request: IncomingMessage, response: ServerResponse, handed: Handed): void
  readonly conversations: KeptConversations
}

/** Looks up where a listener's requests belong. */
export interface Sought {
  /** By the id of a conversation that is not, or may not be, of this process. */
  conversation(id: string): Whereabouts | Promise<Whereabouts>
  /** By the place that a parked call, a task or a handle names. Absent where that is found in another way. */
  work?(place: string): Whereabouts | Promise<Whereabouts>
}

/** Processes that accept for the same clients. What one of them keeps has an id that says so, and is asked of that one. */
export interface Neighbours {
  readonly sealing: Sealing
  /** Place for events that clients may come back for; absent where the memory of each process is all there is. */
  readonly events?: EventCopies | undefined
  /** A new id of a conversation that this process keeps. */
  newId(): string
  /** Has others hand on to a listener, and looks up for it where the rest belongs. */
  join(listener: string, beside: BesideOthers): Sought
}
