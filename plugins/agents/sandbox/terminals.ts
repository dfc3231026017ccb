import { randomBytes } from 'node:crypto'
import path from 'node:path'
import {
  type Clock,
  globs,
  type JsonObject,
  type Program,
  type ProgramExit,
  type Programs,
  type ProgramSpec,
  RPC,
} from '../../../src/plugin.ts'
import type { ClientSideOptions } from './gateway-files.ts'
import { existing, lookUp, type Roots, wrongPath } from './paths.ts'
import { realProgram, terminalRequest, type TerminalRequest } from './terminal-request.ts'
import { cleanLine, OutputRing } from './text.ts'

type TerminalSettings = NonNullable<ClientSideOptions['settings']['client']['terminal']>

/** The programs that one task runs through the gateway. */
export class Terminals {
  readonly #options: ClientSideOptions
  readonly #settings: TerminalSettings
  readonly #roots: Roots
  readonly #isAllowed: (program: string) => boolean
  readonly #terminals = new Map<string, Terminal>()
  readonly #disposed = new AbortController()
  #starting = 0

  constructor(options: ClientSideOptions, settings: TerminalSettings, roots: Roots) {
    this.#options = options
    this.#settings = settings
    this.#roots = roots
    this.#isAllowed = globs(settings.commands)
  }

  /** `terminal/create`. @throws RequestRefused, and GatewayError GW_AGENT_PATH for its directory */
  async create(params: JsonObject): Promise<JsonObject> {
    const request = terminalRequest(params)
    if (typeof request === 'string') throw new RequestRefused(RPC.invalidParams, request)
    this.#checkRoom()
    this.#starting++
    try {
      const terminal = await this.#run(request)
      const id = `term_${randomBytes(12).toString('hex')}`
      this.#terminals.set(id, terminal)
      if (this.#disposed.signal.aborted) await this.dispose()
      return { terminalId: id }
    } finally {
      this.#starting--
    }
  }

  output(params: JsonObject): Promise<JsonObject> {
    return Promise.resolve(this.#find(params).read())
  }

  wait(params: JsonObject): Promise<JsonObject> {
    return this.#find(params).wait()
  }

  /** The terminal stays, with its output. */
  async kill(params: JsonObject): Promise<JsonObject> {
    await this.#find(params).kill()
    return {}
  }

  async release(params: JsonObject): Promise<JsonObject> {
    const terminal = this.#find(params)
    this.#terminals.delete(String(params.terminalId))
    await terminal.kill()
    return {}
  }

  /** Ends everything; nothing is run any more. */
  async dispose(): Promise<void> {
    this.#disposed.abort()
    const open = [...this.#terminals.values()]
    this.#terminals.clear()
    await Promise.all(open.map(terminal => terminal.kill()))
  }

  async #run(request: TerminalRequest): Promise<Terminal> {
    const { programs, settings, directory, home, clock } = this.#options
    const cwd = await this.#directoryOf(request)
    const base = programs.environment(settings.inheritEnv, {})
    const command = await this.#programOf(request, base.PATH, cwd)
    await this.#refuseOwnFiles(request, cwd)
    const { sandbox, ceilings } = settings
    return Terminal.run(
      programs,
      {
        name: settings.id,
        command,
        args: request.args,
        cwd,
        // Not the agent's own variables: they hold its keys.
        env: { ...base, HOME: home ?? directory, ...request.env },
        ceilings,
        // Programs of an agent in a sandbox run in one like it.
        sandbox,
        writable: home === undefined ? [directory] : [directory, home],
      },
      { clock, timeoutMs: this.#settings.timeoutMs, output: this.#outputOf(request) },
      this.#disposed.signal,
    ).catch(() => {
      throw new RequestRefused(RPC.internal, 'the program could not be run')
    })
  }

  #outputOf({ outputByteLimit }: TerminalRequest): number {
    return Math.min(outputByteLimit ?? this.#settings.output, this.#settings.output)
  }

  async #directoryOf({ cwd }: TerminalRequest): Promise<string> {
    if (cwd === undefined || cwd === null) return this.#options.directory
    const found = existing('cwd', cwd, await this.#roots.place('cwd', cwd))
    const why = found.stats.isDirectory() ? this.#options.own?.whyNot(found.real, 'write') : 'is no directory'
    if (why !== undefined) throw wrongPath('cwd', cwd, why)
    return found.real
  }

  /** Refuses arguments that name a file of the gateway, as nobody knows what a program does with them. */
  async #refuseOwnFiles({ args }: TerminalRequest, cwd: string): Promise<void> {
    const { own } = this.#options
    const names = args.flatMap(arg => [arg, arg.slice(arg.indexOf('=') + 1)]).filter(name => name !== '')
    for (const name of new Set(names)) {
      const { real } = await lookUp(path.posix.isAbsolute(name) ? name : `${cwd}/${name}`, () => true)
      if (own?.whyNot(real, 'write') === undefined) continue
      const why = `"${cleanLine(name)}" is a file of the gateway itself`
      throw new RequestRefused(RPC.invalidParams, why)
    }
  }

  /** By its real path, which is also what is run: a link that is changed meanwhile leads nowhere else. */
  async #programOf(
    { command }: TerminalRequest,
    searchPath: string | undefined,
    cwd: string,
  ): Promise<string> {
    const real = await realProgram(command, searchPath, cwd)
    if (real !== undefined && this.#isAllowed(real)) return real
    // The same words for both: whether it exists is not said.
    throw new RequestRefused(
      RPC.invalidParams,
      `"${cleanLine(command)}" is none of the programs that may be run here (client.terminal.commands)`,
    )
  }

  #checkRoom(): void {
    const { max } = this.#settings
    if (this.#disposed.signal.aborted) throw new RequestRefused(RPC.internal, 'the task is over')
    if (this.#terminals.size + this.#starting >= max)
      throw new RequestRefused(RPC.internal, `${max} terminals are open already; release one first`)
  }

  #find({ terminalId }: JsonObject): Terminal {
    const terminal = this.#terminals.get(String(terminalId))
    if (terminal !== undefined) return terminal
    throw new RequestRefused(RPC.legacyNoResource, 'there is no such terminal')
  }
}

/** Thrown by a handler to answer a request of the agent with an error. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused'
  /** JSON-RPC code. */
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** Bounds of one terminal. */
interface TerminalBounds {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Most bytes of output kept. */
  readonly output: number
}

/** One program that an agent runs through the gateway, with the end of its output. */
class Terminal {
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
      const stopTimer = clock.after(timeoutMs, () => void terminal.kill())
      void terminal.#ended.then(stopTimer)
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
