import type { PrivatePath } from '../util/private-path.ts'
import type { CeilingsConfig, SandboxConfig } from '../config/config.gen.ts'

/** One line that a server wrote beside the protocol; without what its configuration keeps secret, control characters escaped. */
export interface LogLine {
  /** Time at which it came, in milliseconds since 1970. */
  readonly at: number
  readonly stream: 'stderr'
  /** The process that wrote it. */
  readonly pid?: number
  readonly text: string
}

/** Output of a server beside the protocol. */
export interface UpstreamLogs {
  /** The last 64 KiB, oldest first, over all its processes. */
  recent(): readonly LogLine[]
  /** Hears each line from now on; returns the way to take it back. A hearer that throws hears no more. */
  follow(hear: (line: LogLine) => void): () => void
}

/** The right to run one process, from before it starts. Each may be said more than once. */
export interface ProcessPermit {
  /** Tells that the process is up, or never will be: the next may start. */
  markStarted(): void
  /** Tells that the process is being ended: others that want its place may wait for that. */
  markStopping(): void
  /** Tells that the process has ended. */
  markStopped(): void
}

/** Processes that can be ended to make room for others. */
export interface EvictableProcesses {
  /** Since when one of them has had nothing to do, by the clock; undefined while there is none. */
  readonly idleSince: number | undefined
  /** Ends that one. */
  evict(): void
}

/** A place in the queue of those who want to start a process. */
export interface QueuedProcess {
  /** Rejects when there is no room, and none can be made. */
  readonly permit: Promise<ProcessPermit>
  /** Waits no longer: `permit` rejects, unless it was given already. */
  cancel(): void
}

/** Limit on the processes that the upstreams of a gateway start at a time, and have. */
export interface ProcessLimiter {
  requestPermit(): QueuedProcess
  /** Names what may be ended when there is no room; returns the way to take it back. */
  registerEvictable(from: EvictableProcesses): () => void
}

/** A program that a plugin wants to run: lines in, lines out. */
export interface ProgramSpec {
  /** Name of its owner, in logs and in its mark. */
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
  /** Told once, when it can no longer be talked to, and how it exited where it has. Its last words are for the owner alone. */
  onEnd(why: string, exit?: ProgramExit, lastWords?: string): void
}

/** Exit of a program: one of both is there. */
export interface ProgramExit {
  readonly code: number | null
  readonly signal: string | null
}

/** A program that runs as a child of the gateway. Nothing is left of it when it is stopped, or the gateway dies. */
export interface Program {
  readonly pid: number | undefined
  /** Latest output on its stderr, without what its environment keeps secret. */
  readonly logs: UpstreamLogs
  /** Queues one line for its stdin; false when too much waits there already. */
  send(line: string): boolean
  /** The same for what must get through if at all possible. */
  reply(line: string): void
  /** End of stdin, SIGTERM and SIGKILL to its group. */
  stop(): Promise<void>
}

/** Runs programs for plugins, within the bounds on all processes of the gateway. */
export interface Programs {
  /** Resolves when it runs. @throws Error that says why it does not, and GatewayError when there is no room */
  launch(spec: ProgramSpec, signal?: AbortSignal): Promise<Program>
  /**
   * Runs a program of the owner for what it prints, such as a secret: without a shell, with the gateway's own environment, for five
   * seconds and 64 KiB. @throws Error that says why there is nothing
   */
  captureOutput(argv: readonly string[], cwd: string): Promise<string>
  /** The environment of a program: what it may inherit of the gateway's own – never what makes it load code –, and what is set. */
  createEnvironment(inherit: readonly string[], set: Readonly<Record<string, string>>): Record<string, string>
  /** Ends what gateways that died have left behind for this directory of the configuration. */
  killOrphans(): Promise<void>
}

/** Facts for making a sandbox, beside its configuration. */
export interface SandboxContext {
  /** The HOME of an upstream in its sandbox, for all its callers; absent where nothing outlives the gateway. */
  readonly home?: string | undefined
  /** Paths of the gateway's own, shown in no sandbox. */
  listPrivatePaths(): readonly PrivatePath[]
}
