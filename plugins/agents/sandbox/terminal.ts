import type { Clock, JsonObject, Program, ProgramExit, Programs, ProgramSpec } from '../../../src/plugin.ts'
import { OutputRing } from './output-ring.ts'

/** What one terminal is bounded by. */
export interface TerminalBounds {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Most bytes of output kept. */
  readonly output: number
}

/** One program that an agent runs through the gateway, with the end of its output. */
export class Terminal {
  readonly #ring: OutputRing
  readonly #ended: Promise<void>
  #end!: () => void
  #exit: ProgramExit | undefined
  #hasEnded = false
  #program: Program | undefined

  constructor(bytes: number) {
    this.#ring = new OutputRing(bytes)
    this.#ended = new Promise(resolve => (this.#end = resolve))
  }

  /** @throws Error when it cannot be run, and GatewayError when there is no room */
  static async run(
    programs: Programs,
    spec: Omit<ProgramSpec, 'maxLine' | 'onLine' | 'onEnd'>,
    { clock, timeoutMs, output }: TerminalBounds,
    signal: AbortSignal,
  ): Promise<Terminal> {
    const terminal = new Terminal(output)
    terminal.#program = await programs.launch(
      {
        ...spec,
        maxLine: 0,
        onLine: () => undefined,
        onOutput: chunk => terminal.#ring.push(chunk),
        onEnd: (why, exit) => terminal.#over(why, exit),
      },
      signal,
    )
    if (!terminal.#hasEnded) {
      const takeBack = clock.after(timeoutMs, () => void terminal.kill())
      void terminal.#ended.then(takeBack)
    }
    return terminal
  }

  /** The result of `terminal/output`. */
  read(): JsonObject {
    const output = this.#ring.read(this.#hasEnded)
    return this.#hasEnded ? { ...output, exitStatus: this.#status } : { ...output }
  }

  /** The result of `terminal/wait_for_exit`. */
  async wait(): Promise<JsonObject> {
    await this.#ended
    return this.#status
  }

  /** Ends it, and all that it started. */
  async kill(): Promise<void> {
    await this.#program?.stop()
  }

  get #status(): JsonObject {
    return { exitCode: this.#exit?.code ?? null, signal: this.#exit?.signal ?? null }
  }

  #over(why: string, exit: ProgramExit | undefined): void {
    this.#hasEnded = true
    this.#exit = exit
    if (exit === undefined) this.#ring.push(Buffer.from(`${why}\n`))
    this.#end()
  }
}
