import type { PrivatePath } from '../util/private-path.ts'
import type { CeilingsConfig, SandboxConfig } from '../config/config.gen.ts'

/** Server stderr line; secrets hidden, control characters escaped. */
export interface LogLine {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly stream: 'stderr'
  readonly pid?: number
  readonly text: string
}

/** Server stderr. */
export interface UpstreamLogs {
  /** The last 64 KiB, oldest first, over all its processes. */
  recent(): readonly LogLine[]
  /** Calls `onLine` for each new line; returns a function that unsubscribes. A callback that throws is removed. */
  follow(onLine: (line: LogLine) => void): () => void
}

/** Permit to run one process. Each method may be called repeatedly. */
export interface ProcessPermit {
  /** The process is up, or failed to start: the next one may start. */
  markStarted(): void
  /** The process is stopping: waiting requests may wait for its slot. */
  markStopping(): void
  /** The process has ended. */
  markStopped(): void
}

/** Processes that can be stopped to free capacity. */
export interface EvictableProcesses {
  /** When the longest idle one became idle, by the clock; undefined if none is idle. */
  readonly idleSince: number | undefined
  /** Stops that one. */
  evict(): void
}

/** A queued request for a process permit. */
export interface QueuedProcess {
  /** Rejects if the limit is reached and nothing can be evicted. */
  readonly permit: Promise<ProcessPermit>
  /** Cancels the request: `permit` rejects unless it was granted. */
  cancel(): void
}

/** Limits the processes that upstreams start concurrently and run. */
export interface ProcessLimiter {
  requestPermit(): QueuedProcess
  /** Registers processes that may be evicted at the limit; returns a function that unregisters them. */
  registerEvictable(from: EvictableProcesses): () => void
}

/** A program for a plugin: lines in, lines out. */
export interface ProgramSpec {
  /** Owner, for logs and the process mark. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>
  /** As for a `stdio` upstream. */
  readonly ceilings?: CeilingsConfig | undefined
  readonly sandbox?: SandboxConfig | 'bwrap' | undefined
  /** Real paths that it may write in its sandbox. */
  readonly writable?: readonly string[]
  /** Maximum stdout line bytes; a longer line stops the program. */
  readonly maxLine: number
  onLine(line: Buffer): void
  /** Receives raw output instead of `onLine` and the log; stdin is closed then. */
  onOutput?(chunk: Buffer, from: 'stdout' | 'stderr'): void
  /**
   * Called once when the program can no longer be reached, with its exit if it exited. The last output is for the
   * owner only.
   */
  onEnd(reason: string, exit?: ProgramExit, lastWords?: string): void
}

/** Exit code or signal. */
export interface ProgramExit {
  readonly code: number | null
  readonly signal: string | null
}

/** A child program. All its processes end when it is stopped or the gateway dies. */
export interface Program {
  readonly pid: number | undefined
  /** Recent stderr, with secrets from its environment hidden. */
  readonly logs: UpstreamLogs
  /** Queues one line for stdin; false if the queue is full. */
  send(line: string): boolean
  /** Like `send`, with reserve capacity for replies. */
  reply(line: string): void
  /** Closes stdin, then sends SIGTERM and SIGKILL to the process group. */
  stop(): Promise<void>
}

/** Runs programs for plugins, within the gateway's process limits. */
export interface Programs {
  /** Resolves when it runs. @throws Error if it does not run, GatewayError if the process limit is reached */
  launch(spec: ProgramSpec, signal?: AbortSignal): Promise<Program>
  /**
   * Captures the output of the owner's program, such as a secret: no shell, the gateway's environment, limits of five
   * seconds and 64 KiB. @throws Error if it fails
   */
  captureOutput(argv: readonly string[], cwd: string): Promise<string>
  /** Creates an environment: `set`, and inherited variables except those that make programs load code. */
  createEnvironment(inherit: readonly string[], set: Readonly<Record<string, string>>): Record<string, string>
  /** Kills processes that dead gateways left for this configuration directory. */
  killOrphans(): Promise<void>
}

/** Sandbox dependencies other than its configuration. */
export interface SandboxContext {
  /** HOME of an upstream in its sandbox, shared by all callers; absent without a state directory. */
  readonly home?: string | undefined
  /** The gateway's private paths, hidden in every sandbox. */
  listPrivatePaths(): readonly PrivatePath[]
}
