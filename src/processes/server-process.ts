import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { EncodedMessage, SkippedLine } from '../util/messages.ts'
import { getByteLength, LineSplitter, LineWriter } from '../util/messages.ts'
import type { Clock, Log, ProgramExit } from '../api/index.ts'
import type { Reason } from '../errors/errors.ts'
import type { SpawnOptions } from './launch.ts'
import { ProcessGroup, spawnServer } from './launch.ts'
import type { StderrReader } from './stderr.ts'
import type { ProcessTable } from './process-table.ts'

interface ServerProcessOptions extends SpawnOptions {
  /** Longest stdout line, in bytes. */
  readonly maxLine: number
  readonly stderr: StderrReader
  readonly log: Log
  readonly clock: Clock
  readonly table: ProcessTable
  readonly onLine: (line: Buffer) => void
  /** Receives both ends of an overlong line; without it such a line stops the process. */
  onSkipped?(line: SkippedLine): void
  /** Receives raw output instead of lines. */
  onOutput?(chunk: Buffer, from: 'stdout' | 'stderr'): void
  /** Called once when the process is unusable, with its exit status if known. */
  onEnd(reason: Reason, exit?: ProgramExit): void
}

const STOP_STEP_MS = 2000
/** Step timeout if only group members remain. */
const ORPHAN_MS = 500
/** Time for buffered output after the exit. */
const DRAIN_MS = 50
/** Longer for raw output, which cannot be requested again. */
const OUTPUT_DRAIN_MS = 2000
/** Time that a process may run after closing a pipe. */
const PIPE_GRACE_MS = 250
const POLL_MS = 20
/** Unread stdin limit, in bytes. */
const MAX_WAITING = 8 * 1024 * 1024

/** A server process with line-based stdin and stdout. Nothing is left after it is stopped. */
export class ServerProcess {
  readonly #options: ServerProcessOptions
  readonly #child: ChildProcessWithoutNullStreams
  readonly #group: ProcessGroup
  readonly #stdout: LineSplitter
  readonly #exited: Promise<void>
  readonly #stdin: LineWriter
  #hasExited = false
  #hasEnded = false
  #exit: ProgramExit | undefined
  #stopping: Promise<void> | undefined

  /** Throws `spawn` errors for invalid arguments. */
  constructor(options: ServerProcessOptions) {
    this.#options = options
    this.#stdout = new LineSplitter({
      maxLine: options.maxLine,
      onLine: options.onLine,
      ...this.#onTooLong(options),
    })
    this.#child = spawnServer(options)
    this.#stdin = new LineWriter(this.#child.stdin, () => undefined)
    this.#group = new ProcessGroup(this.#child)
    if (this.pid !== undefined) {
      options.table.add(this)
      options.stderr.pid = this.pid
    }
    this.#exited = new Promise(resolve => this.#observe(resolve))
  }

  #onTooLong({ maxLine, onSkipped }: ServerProcessOptions): Partial<ConstructorParameters<typeof LineSplitter>[0]> {
    if (onSkipped !== undefined) return { onSkipped }
    return { onTooLong: () => this.giveUp(`stdout line exceeds ${maxLine} bytes`) }
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get #isLineBased(): boolean {
    return this.#options.onOutput === undefined
  }

  get lastOutput(): string | undefined {
    return this.#options.stderr.lastOutput
  }

  /** Bytes not yet read by the process. */
  get unread(): number {
    return this.#stdin.unread
  }

  /** Writes a line; false if the process does not read. */
  send(line: EncodedMessage): boolean {
    if (this.unread > MAX_WAITING) return false
    this.write(line, getByteLength(line))
    return true
  }

  /** Writes a reply or notification, or drops it if the process does not read. */
  reply(line: string): void {
    if (!this.send(line)) this.#options.log.debug('message dropped: the process does not read its stdin')
  }

  /** Queues a line; all lines of a tick are written at once. */
  write(line: EncodedMessage, bytes: number): void {
    if (!this.#hasEnded && this.#child.stdin.writable) this.#stdin.write(line, bytes)
  }

  /**
   * Closes stdin, then sends SIGTERM and SIGKILL to the group, with 2 s each, or less if only group members remain.
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#terminate()
    return this.#stopping
  }

  /** Kills the group immediately. */
  kill(): void {
    this.#group.signal('SIGKILL')
  }

  #observe(exited: () => void): void {
    const { stdin, stdout, stderr } = this.#child
    const handleExit = (reason: string): void => {
      this.#hasExited = true
      exited()
      this.#options.clock.after(this.#isLineBased ? DRAIN_MS : OUTPUT_DRAIN_MS, () => this.#end(reason))
      this.#child.once('close', () => this.#end(reason))
    }
    this.#child.on('error', error => {
      if (this.pid === undefined) handleExit(this.#explainSpawnError(error))
    })
    this.#child.once('exit', (code, signal) => {
      this.#exit = { code, signal }
      handleExit(signal === null ? `exited with code ${String(code)}` : `killed by ${signal}`)
    })
    for (const stream of [stdout, stderr]) stream.on('error', () => undefined)
    if (!this.#isLineBased) return this.#forwardOutput()
    stdout.on('data', (chunk: Buffer) => this.#stdout.push(chunk))
    stdout.once('end', () => this.#endAfterGrace('closed its stdout'))
    stderr.on('data', (chunk: Buffer) => this.#options.stderr.push(chunk))
    stdin.on('error', () => this.#endAfterGrace('closed its stdin'))
  }

  /** Forwards raw output; such a process may close its pipes. */
  #forwardOutput(): void {
    const { stdin, stdout, stderr } = this.#child
    stdout.on('data', (chunk: Buffer) => this.#options.onOutput?.(chunk, 'stdout'))
    stderr.on('data', (chunk: Buffer) => this.#options.onOutput?.(chunk, 'stderr'))
    stdin.on('error', () => undefined).end()
  }

  #endAfterGrace(reason: string): void {
    this.#options.clock.after(PIPE_GRACE_MS, () => {
      if (!this.#hasExited && this.#stopping === undefined) this.giveUp(reason)
    })
  }

  /** Stops a running process that is unusable. */
  giveUp(reason: string): void {
    this.#end(reason)
    void this.stop()
  }

  #end(reason: string): void {
    if (this.#hasEnded) return
    this.#stdout.end()
    // The last line may have been overlong.
    if (this.#isOver()) return
    this.#hasEnded = true
    this.#options.stderr.end()
    this.#options.onEnd({ why: reason, detail: this.lastOutput }, this.#exit)
    void this.stop()
  }

  #isOver(): boolean {
    return this.#hasEnded
  }

  async #terminate(): Promise<void> {
    this.#stdin.end()
    if (!this.#hasExited && this.#isLineBased) await this.#within(STOP_STEP_MS, () => this.#hasExited)
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#within(DRAIN_MS, () => this.#isGone())) break
      this.#group.signal(signal)
      await this.#within(this.#hasExited ? ORPHAN_MS : STOP_STEP_MS, () => this.#isGone())
    }
    // Final output may still arrive.
    await this.#within(2 * DRAIN_MS, () => this.#hasEnded)
    this.#child.stdout.destroy()
    this.#child.stderr.destroy()
    this.#options.table.removeProcess(this)
  }

  #isGone(): boolean {
    return this.#hasExited && !this.#group.isAlive
  }

  async #within(ms: number, isDone: () => boolean): Promise<boolean> {
    const { clock } = this.#options
    const deadline = clock.now() + ms
    while (!isDone() && clock.now() < deadline) {
      await Promise.race([
        this.#hasExited ? new Promise<void>(() => undefined) : this.#exited,
        new Promise<void>(resolve => clock.after(POLL_MS, resolve)),
      ])
    }
    return isDone()
  }

  #explainSpawnError(error: NodeJS.ErrnoException): string {
    const { command, cwd } = this.#options
    if (error.code === 'ENOENT' && !existsSync(cwd)) return `working directory ${cwd} does not exist`
    if (error.code === 'ENOENT') return `command not found: ${command}: install it, or add its folder to PATH`
    if (error.code === 'EACCES') return `${command} is not executable (EACCES)`
    return `cannot run ${command}: ${error.message}`
  }
}
