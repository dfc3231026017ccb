/** A JSON object as it went over the wire. */
export type Json = Record<string, unknown>

/** A protocol era, as both sides of a connection call it. */
export type Era = 'legacy' | 'modern'

/** Address of a server: over Streamable HTTP, HTTP+SSE, a WebSocket, or through the pipes of a program. */
export type Place =
  | { readonly transport: 'http' | 'sse' | 'ws'; readonly url: string }
  | { readonly transport: 'stdio'; readonly command: string; readonly args: readonly string[] }

/** The way a client answers what a server asks for in the middle of a call. */
export type Answers = Readonly<Record<string, (params: Json) => Json | Promise<Json>>>

/** A client that connects: what it can be asked for, and how it answers. Without answers it declares no capability. */
export interface Identity {
  readonly answers?: Answers
}

/** All that a request may have besides its parameters. */
export interface Around {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Json) => void
  /** The result as it came, instead of what the client's library makes of it. */
  readonly raw?: boolean
}

/** Notifications a client heard outside of its own requests' progress, oldest first. */
export interface Heard {
  all(method: string): readonly Json[]
  /** Forgets what was heard of it. */
  forget(method: string): void
  /** Resolves with the first that fits, past or to come, and rejects after a while. */
  next(method: string, fits?: (params: Json) => boolean): Promise<Json>
}

/** All that a client asks to be told of. */
export interface Interest {
  readonly lists?: readonly ('tools' | 'prompts' | 'resources')[]
  readonly uris?: readonly string[]
}

/** A connected client, whatever library and era it is of. */
export interface Peer {
  readonly era: Era
  readonly version: string
  readonly server: { readonly info: Json; readonly capabilities: Json; readonly instructions?: string }
  readonly heard: Heard
  /** Rejects with an error that has the JSON-RPC code as `code`. */
  request(method: string, params?: Json, around?: Around): Promise<Json>
  /** From now on the server may log at this level and above. */
  setLogLevel(level: string): Promise<void>
  /** Resolves once the server knows, with the way to end it. */
  watch(interest: Interest): Promise<() => Promise<void>>
  close(): Promise<void>
}

/** Capabilities that go with the answers. */
export function capabilitiesOf(answers: Answers | undefined): Json {
  if (answers === undefined) return {}
  return {
    ...(answers['elicitation/create'] ? { elicitation: { form: {}, url: {} } } : {}),
    ...(answers['sampling/createMessage'] ? { sampling: { tools: {} } } : {}),
    ...(answers['roots/list'] ? { roots: {} } : {}),
  }
}
