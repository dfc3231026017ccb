import type { RpcId } from '../../../src/protocol/jsonrpc.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'

export type EraName = 'modern' | 'legacy'

/** All that an upstream's tool, prompt or method does, as data. A string is its text. */
export type Handler = string | HandlerObject

export interface HandlerObject {
  /** Fields of its list entry. */
  readonly entry?: JsonObject
  readonly result?: JsonObject
  readonly error?: JsonObject
  /** Answers with the parameters it was called with. */
  readonly echo?: boolean
  /** Notifications to send ahead of the answer. The caller's progress token is filled in. */
  readonly notify?: readonly { readonly method: string; readonly params: JsonObject }[]
  /** Answers only when it is cancelled. */
  readonly hangs?: boolean
}

export interface UpstreamScript {
  readonly tools?: Readonly<Record<string, Handler>>
  readonly prompts?: Readonly<Record<string, Handler>>
  readonly methods?: Readonly<Record<string, Handler>>
  readonly resources?: Readonly<Record<string, string | JsonObject>>
  readonly resourceTemplates?: readonly JsonObject[]
  readonly capabilities?: JsonObject
  readonly instructions?: string
  readonly pageSize?: number
  readonly ttlMs?: number
  readonly cacheScope?: 'public' | 'private'
  /** Says whether it is down when the gateway starts. */
  readonly down?: boolean
}

/** All that a client should get. */
export interface Expected {
  readonly result?: JsonObject
  readonly error?: JsonObject
  readonly status?: number
  readonly id?: RpcId | null
  readonly notifications?: readonly JsonObject[]
  /** Names (or URIs) of the list it got, in order. */
  readonly names?: readonly string[]
}

/** One step; exactly one of `request`, `raw`, `notified`, `calls`, `log`, `offer`, `stop`, `restart`, `state`, `listen` says what it is. */
export interface Step extends Expected {
  /** Runs only with this era of client, or of upstream. */
  readonly when?: { readonly client?: EraName; readonly upstream?: EraName }
  /** Name of the client; default `main`. */
  readonly client?: string
  readonly request?: string
  readonly params?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  /** Id to send with the request. */
  readonly as?: RpcId
  /** Gives the request up once the upstream has it. */
  readonly cancel?: boolean
  /** Takes the next page until there is none, for `names`. */
  readonly allPages?: boolean
  readonly raw?: string
  readonly listen?: boolean
  readonly notified?: string
  readonly upstream?: string
  /** Every call an upstream got so far of some methods. */
  readonly calls?: Readonly<Record<string, readonly JsonObject[]>>
  /** Number of of each method it got. */
  readonly counts?: Readonly<Record<string, number>>
  /** Waits until a call of that method was given up. */
  readonly cancelled?: string
  /** All that an upstream offers from now on. */
  readonly offer?: Pick<UpstreamScript, 'tools' | 'prompts' | 'resources'>
  readonly notify?: string
  readonly stop?: string
  readonly restart?: string
  /** Waits for an upstream to be in this state. */
  readonly state?: string
  /** A line that the log must have. */
  readonly log?: JsonObject
}

/** transcript.yaml of a case. */
export interface Transcript {
  /** The behaviour that it shows, as a sentence. */
  readonly shows: string
  /** Eras of clients and upstreams to run it with; default both. */
  readonly clientEras?: readonly EraName[]
  readonly upstreamEras?: readonly EraName[]
  readonly clients?: Readonly<
    Record<
      string,
      {
        readonly info?: { readonly name: string; readonly version: string }
        /** Protocol version it speaks; default the newest of its era. */
        readonly version?: string
        readonly capabilities?: JsonObject
      }
    >
  >
  readonly upstreams: Readonly<Record<string, UpstreamScript>>
  readonly steps: readonly Step[]
}
