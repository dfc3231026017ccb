import { realpathSync } from 'node:fs'
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Clock, Log, PluginApi } from '../../../src/plugin.ts'
import { findProgram, compileGlobs, getErrorMessage, makeDirectorySync } from '../../../src/plugin.ts'
import { agentError } from '../errors.ts'
import type { AgentFacts, AgentHealth, FailureKind, SessionRequest } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { AgentSettings } from '../settings.ts'
import type { AgentSession } from './session.ts'
import { LiveSession } from './session.ts'

export interface HostDeps {
  readonly settings: AgentSettings
  readonly programs: PluginApi['programs']
  readonly clock: Clock
  readonly log: Log
  /** Configuration directory. */
  readonly directory: string
  /** Plugin state directory; undefined without persistent state. */
  readonly state: string | undefined
  /** Globs that the program's real path must match. */
  readonly commands: readonly string[] | undefined
  /** Gateway version. */
  readonly version: string
}

const OUT: ReadonlySet<FailureKind> = new Set(['spawn', 'timeout', 'crash', 'protocol', 'refused'])

/** Failure phases that would affect every task. */
const STARTS: ReadonlySet<string> = new Set(['spawn', 'initialize', 'auth'])

/** Handler for sessions without a task. */
const NOBODY: SessionRequest['handler'] = {
  update: () => undefined,
  permission: () => Promise.resolve('cancelled'),
  elicit: () => Promise.resolve({ action: 'decline' }),
}

export type AgentHost = Pick<LocalAgentHost, keyof LocalAgentHost>

/** One configured agent; starts a process per session. */
export class LocalAgentHost {
  readonly settings: AgentSettings
  readonly #deps: HostDeps
  readonly #sessions = new Set<LiveSession>()
  readonly #stopping = new AbortController()
  #homeDirectory: Promise<string> | undefined
  #health: AgentHealth = { state: 'unknown' }

  constructor(deps: HostDeps) {
    this.#deps = deps
    this.settings = deps.settings
  }

  /** Before the first run, only reflects whether the program exists. */
  get health(): AgentHealth {
    if (this.#health.state !== 'unknown') return this.#health
    const { inheritEnv, env } = this.settings
    try {
      this.#resolveProgram(this.#deps.programs.createEnvironment(inheritEnv, env).PATH)
      return this.#health
    } catch (error) {
      return { state: 'unavailable', why: getErrorMessage(error) }
    }
  }

  /** Running processes, each with one session. */
  get processes(): number {
    return this.#sessions.size
  }

  /** @throws GatewayError GW_AGENT_COMMAND */
  #resolveProgram(searchPath: string | undefined): string {
    const { directory, commands } = this.#deps
    return resolveProgramFile(this.settings, { searchPath, directory, commands })
  }

  /** Opens a session in its own process. @throws AgentFailure */
  async openSession(request: SessionRequest): Promise<AgentSession> {
    const signal = AbortSignal.any([this.#stopping.signal, request.signal ?? this.#stopping.signal])
    let session: LiveSession | undefined
    try {
      session = await this.#createSession(request)
      this.#sessions.add(session)
      await session.open(signal)
      this.#health = { state: 'ready', facts: { ...this.#health.facts, ...session.facts } as AgentFacts }
      return session
    } catch (error) {
      const failure = toStartFailure(error)
      if (session !== undefined) this.#sessions.delete(session)
      this.#health = deriveHealth(failure, session?.facts ?? this.#health.facts) ?? this.#health
      throw failure
    }
  }

  async #createSession(request: SessionRequest): Promise<LiveSession> {
    const { settings, programs, clock, log, version } = this.#deps
    const home = await this.#getHomeDirectory()
    const env = programs.createEnvironment(settings.inheritEnv, { HOME: home, ...settings.env })
    const session: LiveSession = new LiveSession({
      ...{ settings, env, programs, clock, log, version, request },
      program: this.#resolveProgram(env.PATH),
      writable: home === request.cwd ? [home] : [home, request.cwd],
      onFailure: failure => (this.#health = deriveHealth(failure, this.#health.facts) ?? this.#health),
      onExit: () => void this.#sessions.delete(session),
    })
    return session
  }

  /** Starts a process and a session, because many agents require a login only for a session. Never rejects. */
  async probe(): Promise<AgentHealth> {
    try {
      const cwd = await this.#getHomeDirectory()
      const session = await this.openSession({ cwd, mcpServers: [], handler: NOBODY })
      const { ownMode } = session
      const { facts } = this.#health
      if (facts !== undefined && ownMode !== undefined) this.#health = { ...this.#health, facts: { ...facts, ownMode } }
      await session.close()
    } catch (error) {
      this.#deps.log.debug('probed agent did not open a session', {
        why: getErrorMessage(error),
        lastWords: error instanceof AgentFailure ? error.lastWords : undefined,
      })
    }
    return this.#health
  }

  /** Stops all processes; open turns fail with kind `stopped`. */
  async stop(): Promise<void> {
    const message = `agent "${this.settings.id}": the gateway is stopping`
    const failure = new AgentFailure('stopped', 'place', message)
    this.#stopping.abort(failure)
    await Promise.all([...this.#sessions].map(session => session.terminate(failure)))
    if (this.#deps.state !== undefined || this.#homeDirectory === undefined) return
    const made = await this.#homeDirectory.catch(() => undefined)
    if (made !== undefined) await rm(made, { recursive: true, force: true }).catch(() => undefined)
  }

  /** Returns the agent's private HOME; temporary without persistent state. */
  #getHomeDirectory(): Promise<string> {
    return (this.#homeDirectory ??= this.#createHome())
  }

  async #createHome(): Promise<string> {
    const { state, settings } = this.#deps
    if (state === undefined) return realpath(await mkdtemp(path.join(tmpdir(), 'tapgate-agent-')))
    const persistentHome = path.join(state, 'homes', settings.id)
    makeDirectorySync(persistentHome, 0o700)
    await chmod(persistentHome, 0o700)
    return realpath(persistentHome)
  }
}

/** Derives the agent's health from a start, session or turn error; undefined if it does not change. */
function deriveHealth({ kind, phase, message, lastWords }: AgentFailure, known: AgentFacts | undefined) {
  const facts = known === undefined ? {} : { facts: known }
  if (kind === 'auth') return { state: 'needs_auth', why: message, ...facts } as const
  if (!OUT.has(kind) || !STARTS.has(phase)) return undefined
  return { state: 'unavailable', why: message, ...(lastWords ? { lastWords } : {}), ...facts } as const
}

/** Converts a start error to an agent failure. */
function toStartFailure(error: unknown): AgentFailure {
  if (error instanceof AgentFailure) return error
  return Object.assign(new AgentFailure('spawn', 'spawn', getErrorMessage(error)), { cause: error })
}

interface ProgramRules {
  /** PATH in the agent's environment. */
  readonly searchPath: string | undefined
  /** Base directory for relative commands. */
  readonly directory: string
  /** Globs that the real path must match; undefined allows any program. */
  readonly commands: readonly string[] | undefined
}

/**
 * Resolves the agent's program. With `commands`, returns the real path, so that the checked file is the executed one;
 * otherwise keeps symlinks, because some programs inspect their own name. @throws GatewayError GW_AGENT_COMMAND if
 * the program is missing or not allowed
 */
export function resolveProgramFile(
  { id, command }: Pick<AgentSettings, 'id' | 'command'>,
  { commands, searchPath, directory }: ProgramRules,
): string {
  const where = `agents.list.${id}.command`
  // Relative PATH entries would resolve differently in each task directory.
  const folders = searchPath?.split(path.delimiter).filter(folder => path.isAbsolute(folder))
  const file = findProgram(command, folders, directory)
  if (file === undefined) {
    const reason = 'not found or not executable'
    throw agentError('GW_AGENT_COMMAND', { where, command, why: reason, missing: true })
  }
  if (commands === undefined) return file
  const real = realpathSync(file)
  if (!compileGlobs(commands)(real))
    throw agentError('GW_AGENT_COMMAND', { where, command, why: `${real} does not match agents.commands` })
  return real
}
