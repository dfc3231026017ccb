import type { JsonObject } from '../protocol/json/json.ts'

/** Means of a tool of a test upstream besides returning. */
export interface TestContext {
  /** The whole parameters, `_meta` included. */
  readonly params: JsonObject
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Aborted when the caller gives up. */
  readonly signal: AbortSignal
  /** Sends a notification of this request ahead of its answer. */
  notify(method: string, params: JsonObject): void
}

type Run = (args: JsonObject, context: TestContext) => unknown

/** A function of the arguments, or an entry of the list with a `run`. A string becomes a text result, an `RpcError` an error. */
export type TestTool = Run | (JsonObject & { readonly run?: Run })

/** The same for prompts: a string becomes one user message. */
export type TestPrompt = TestTool

/** A resource's text, or an entry of the list with a `text`. */
export type TestResource = string | (JsonObject & { readonly text?: string })

/** Options of a test upstream. Everything is optional. */
export interface TestUpstreamOptions {
  /** Handshake that it understands. Default `dual`: both. */
  readonly era?: 'modern' | 'legacy' | 'dual'
  readonly name?: string
  readonly version?: string
  readonly instructions?: string
  /** Capabilities to claim on top of those that follow from what it offers. */
  readonly capabilities?: JsonObject
  /** Tools by name: a function of the arguments, or an entry with any fields and a `run`. */
  readonly tools?: Readonly<Record<string, TestTool>>
  readonly prompts?: Readonly<Record<string, TestPrompt>>
  /** Resources by URI: their text, or an entry with any fields and a `text`. */
  readonly resources?: Readonly<Record<string, TestResource>>
  /** Entries of resources/templates/list. */
  readonly resourceTemplates?: readonly JsonObject[]
  /** Any other method, or one of the above done otherwise: a function from parameters to result. */
  readonly methods?: Readonly<Record<string, TestTool>>
  /** Entries per page of a list. Default: all on one page. */
  readonly pageSize?: number
  /** Time before it answers anything but its handshake. */
  readonly delayMs?: number
  /** Freshness of a modern list. Default 0. */
  readonly ttlMs?: number
  /** Default `private`. */
  readonly cacheScope?: 'public' | 'private'
  /** Port to listen on; default any free one, which `restart` keeps. */
  readonly port?: number
}
