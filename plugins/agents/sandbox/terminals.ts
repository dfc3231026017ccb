import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { globs, type JsonObject, RPC } from '../../../src/plugin.ts'
import type { ClientSideOptions } from './client-side-options.ts'
import { lookUp } from './lookup.ts'
import { existing, type Roots, wrongPath } from './paths.ts'
import { RequestRefused } from './refused.ts'
import { realProgram, terminalRequest, type TerminalRequest } from './terminal-request.ts'
import { Terminal } from './terminal.ts'
import { cleanLine } from './text.ts'

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
        // What runs for an agent in a sandbox runs in one like it.
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

  /** What a program does with its arguments nobody knows: none that names a file of the gateway is passed. */
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
