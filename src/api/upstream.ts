import { type JsonObject } from '../protocol/json/json.ts'
import type { Ask, AskReply, Dispatch, Exchange, Notification, Session } from './exchange.ts'

import type { ProcessRoom, Sandboxing, UpstreamLogs } from './process.ts'
import type { Clock, Log } from './system.ts'
import type { UpstreamConfig } from '../config/config.gen.ts'

import type { Kind } from '../protocol/methods.ts'
import type { Era } from '../protocol/versions.ts'
import type { UpstreamMemory } from './upstream-memory.ts'

/** `idle` not started, or ended for want of calls; the next one starts it · `starting` · `ready` · `failed` waiting for its next try · `stopped` for good. */
export type UpstreamState = 'idle' | 'starting' | 'ready' | 'failed' | 'stopped'

/** What a server said of itself in its handshake, in neutral form. */
export interface ServerSide {
  readonly era: Era
  readonly version: string
  readonly info: { readonly name: string; readonly version: string; readonly [key: string]: unknown }
  readonly capabilities: JsonObject
  readonly instructions: string | undefined
}

/** How an upstream does at this moment. Times are milliseconds since 1970. */
export interface UpstreamRuntime {
  /** Its live processes or connections; more than one where it has a pool, replicas, or isolation. */
  readonly instances: readonly {
    readonly pid?: number
    readonly startedAt: number
    readonly inFlight: number
  }[]
  /** How often it was started again since the gateway began. */
  readonly restarts: number
  /** Calls under way, over all instances. */
  readonly inFlight: number
  /** The last failure, as one line for people; kept after recovery. */
  readonly lastError?: string
  readonly lastErrorAt?: number
}

/** A configured server, as people see it. */
export interface UpstreamStatus {
  readonly name: string
  readonly type: string
  readonly state: UpstreamState
  /** What is said of the server was saved by an earlier run; it has not been spoken to in this one. */
  readonly remembered?: true
  readonly problem?: string
  readonly pid?: number
  readonly era?: string
  readonly version?: string
  readonly server?: { readonly name: string; readonly version: string }
  /** How often it sent what could not be given to anybody, by what it was; absent when it never did. */
  readonly dropped?: Readonly<Record<string, number>>
  /** What is wrong with it although it works: over 1,000 lines or 1 MiB within 10 s that are no messages. */
  readonly degraded?: string
  /** What is known of its processes or connections and its load; absent where that is not known. */
  readonly runtime?: UpstreamRuntime
  /** How many things of each kind it offers, once listed. */
  readonly offers?: Readonly<Partial<Record<Kind, number>>>
  /** Why a list of it is left out or not the newest, by kind; absent when all are as they should be. */
  readonly lists?: Readonly<Partial<Record<Kind, string>>>
  /** What plugins add by the `status` hook, each under a key of its own. */
  readonly [added: string]: unknown
}

/** A configured server. */
export interface Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly state: UpstreamState
  /** Why it is not ready, as one line for people. */
  readonly problem: string | undefined
  readonly server: ServerSide | undefined
  /** Process id of a local server, for inspect. */
  readonly pid: number | undefined
  /** How often it sent what could not be given to anybody, by what it was. */
  readonly dropped?: Readonly<Record<string, number>> | undefined
  /** What is wrong with it although it works, as one line for people. */
  readonly degraded?: string | undefined
  /** What it wrote on its stderr; absent where there is none. */
  readonly logs?: UpstreamLogs | undefined
  /** What is known of its processes or connections and its load. */
  readonly runtime?: UpstreamRuntime | undefined
  /** What outlives this process; absent where nothing does. */
  readonly memory?: UpstreamMemory | undefined
  /** Whether `server` was saved by an earlier run and nobody has asked since. */
  readonly isRemembered?: boolean
  dispatch: Dispatch
  /** A client's conversation is over: what was kept for it may go. */
  sessionEnded?(session: Session): void
  /** These clients have other roots now, or there are other clients: who was told of roots may have to ask again. */
  rootsChanged?(changed: readonly Session[]): void
  /** Resolves when the first attempt has ended, well or badly; never rejects. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** What a client said of its roots, outside any call. */
export interface ListedRoots {
  readonly of: Session
  readonly reply: AskReply
}

/** The roots of clients for one upstream, outside any call. `isOn` says which sessions use a link; absent where all may. */
export interface RootsOfClients {
  /** Asks the one client of a link; undefined where there is none, or no telling which it is. */
  list(ask: Ask, isOn?: (session: Session) => boolean): Promise<ListedRoots | undefined>
  /** Whether the client of a call is that one, so that it does not matter which of its calls asks. */
  isOnly(session: Session, isOn?: (session: Session) => boolean): boolean
  /** The client that would be asked. */
  clientOf(isOn?: (session: Session) => boolean): Promise<Session | undefined>
}

/** What the core offers to an upstream. */
export interface UpstreamContext {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  /** Directory that relative paths of the config are relative to. */
  readonly directory: string
  readonly gateway: { readonly name: string; readonly version: string }
  /** Variables of the gateway's own environment that a child may inherit by allow-list. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Shared by all upstreams that are processes; absent where nothing bounds them. */
  readonly room?: ProcessRoom
  /** What is known of it from before, and will be known later; absent where nothing outlives this process. */
  readonly memory?: UpstreamMemory | undefined
  /** Takes every secret out of a text, before it is cut or kept. */
  hide(text: string): string
  /** What a sandbox around its processes is made with. */
  readonly sandboxing?: Sandboxing
  /** A notification that belongs to no request. `isMeant` says who hears of a changed resource; everybody who wants it when absent. */
  notify(notification: Notification, isMeant?: (session: Session) => boolean): void
  /** A legacy server's own request; `exchange` is the call it came with, where that is known. */
  ask(ask: Ask, exchange: Exchange | undefined): Promise<AskReply>
  /** What clients say of their roots when no call asks; absent where nobody can be asked. */
  readonly roots?: RootsOfClients
  stateChanged(state: UpstreamState, problem?: string): void
}
