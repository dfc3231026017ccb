import type { PrivatePlace } from '../util/private-place.ts'
import type { CeilingsConfig, SandboxConfig } from '../config/config.gen.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import type { Exchange, UpstreamLogs } from './index.ts'

/** A program that a plugin wants to run: lines in, lines out. */
export interface ProgramSpec {
  /** Whose it is, in logs and in its mark. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>
  /** As for a `stdio` upstream. */
  readonly ceilings?: CeilingsConfig | undefined
  readonly sandbox?: SandboxConfig | 'bwrap' | undefined
  /** Real paths of what it may write in its sandbox, whatever that says. */
  readonly writable?: readonly string[]
  /** Most bytes of one line of its stdout; a longer one ends it. */
  readonly maxLine: number
  onLine(line: Buffer): void
  /** Gets all that it writes as it comes, instead of `onLine` and the log; the stdin of such a program is at its end. */
  onOutput?(chunk: Buffer, from: 'stdout' | 'stderr'): void
  /** Told once, when it can no longer be talked to; with its last words, and how it exited where it has. */
  onEnd(why: string, exit?: ProgramExit): void
}

/** How a program exited: one of both is there. */
export interface ProgramExit {
  readonly code: number | null
  readonly signal: string | null
}

/** A program that runs as a child of the gateway. Nothing is left of it when it is stopped, or the gateway dies. */
export interface Program {
  readonly pid: number | undefined
  /** What it wrote lately on its stderr, without what its environment keeps secret. */
  readonly logs: UpstreamLogs
  /** Memory of it and all it started, in bytes; undefined where that cannot be known. */
  memory(): Promise<number | undefined>
  /** Queues one line for its stdin; false when too much waits there already. */
  send(line: string): boolean
  /** The same for what must get through if at all possible. */
  reply(line: string): void
  /** End of stdin, SIGTERM and SIGKILL to its group, then to what has left the group. */
  stop(): Promise<void>
}

/** Runs programs for plugins, within the bounds on all processes of the gateway. */
export interface Programs {
  /** Resolves when it runs. @throws Error that says why it does not, and GatewayError when there is no room */
  launch(spec: ProgramSpec, signal?: AbortSignal): Promise<Program>
  /** The environment of a program: what it may inherit of the gateway's own – never what makes it load code –, and what is set. */
  environment(inherit: readonly string[], set: Readonly<Record<string, string>>): Record<string, string>
  /** Ends what gateways that died have left behind for this directory of the configuration. */
  endOrphans(): Promise<void>
}

/**
 * Something beside the exchanges that an audit keeps: a server asked the client for something, an agent was permitted
 * something, or the owner steered the gateway.
 */
export interface AuditEvent {
  readonly kind: 'client_request' | 'permission' | 'control'
  /** What was asked for: a method, an action, or a verb. */
  readonly name: string
  /** What came of it, in a word, such as `accept`, `denied` or an error code. */
  readonly outcome: string
  /** In whose middle it happened. */
  readonly exchange?: Exchange | undefined
  /** More that the line says. Secrets are hidden, and long texts cut. */
  readonly fields?: Readonly<Record<string, string | number>>
}

/** What a sandbox is made with, beside what its configuration says. */
export interface Sandboxing {
  /** The HOME of an upstream in its sandbox, for all its callers; absent where nothing outlives the gateway. */
  readonly home?: string | undefined
  /** What is the gateway's own, and shown in no sandbox. */
  places(): readonly PrivatePlace[]
}

/** Figures of one kind, as Prometheus has them. */
export interface Figure {
  /** Begins with `tapgate_`; without `_total`. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly {
    readonly suffix?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly value: number
  }[]
}

/** How much one process has to do, and what it does about it. */
export interface Load {
  /** Bytes held for clients at all listeners: of request bodies, and of answers that are not read. */
  readonly held: number
  /** Bytes of memory. */
  readonly rss: number
  /** Parts of one: of the heap limit, and of the memory that is there. */
  readonly heap?: number
  readonly memory?: number
  /** Milliseconds that the event loop was late at the last look. */
  readonly lagMs?: number
  /** Whether connections end with their answer (`close`), or new requests are refused (`refuse`). */
  readonly shedding?: 'none' | 'close' | 'refuse'
  /** Requests that were refused because of that. */
  readonly refused?: number
}

/** What a built-in plugin of one process asks that of another, in words of its own. */
export interface KeeperAnswers {
  /** `from` is the process that asks, the same object each time. */
  answer(question: JsonObject, from: object): JsonObject
  /** That process has ended: what it held is free. */
  gone(from: object): void
}

/**
 * Where a gateway is several processes: one of them keeps what must hold for all, and is asked by the others. Both have
 * the plugin; one that has told how it answers before is asked no more.
 */
export type Keeper =
  | { readonly role: 'keeps'; serve(answers: KeeperAnswers): void }
  | { readonly role: 'asks'; ask(question: JsonObject): Promise<JsonObject> }
