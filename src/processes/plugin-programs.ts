import type { Clock, Log, ProcessPermit, ProcessLimiter, Program, Programs, ProgramSpec } from '../api/index.ts'
import { getErrorMessage } from '../errors/errors.ts'
import type { PrivatePathSet } from '../util/private-path.ts'
import { createChildEnvironment, listProgramVariables } from './environment.ts'
import { createLaunch, runForOutput } from './launch.ts'
import { createRedactedLog } from '../util/log.ts'
import type { HideSecrets } from '../util/secrets.ts'
import { createVariableRedactor } from '../util/secrets.ts'
import { StderrReader, RecentLines } from './stderr.ts'
import { ProcessTable } from './process-table.ts'
import { ServerProcess } from './server-process.ts'

interface ProgramsDeps {
  readonly log: Log
  readonly clock: Clock
  readonly limiter: ProcessLimiter
  /** Configuration directory. */
  readonly directory: string
  /** Paths hidden from every sandbox. */
  readonly privatePlaces: PrivatePathSet
  /** Gateway environment. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly hide: HideSecrets
}

/** Plugin programs, under the same process quota, marks and watchdog as local servers. */
export class PluginPrograms implements Programs {
  readonly #options: ProgramsDeps
  #table: ProcessTable | undefined

  constructor(options: ProgramsDeps) {
    this.#options = options
  }

  createEnvironment(inherit: readonly string[], set: Readonly<Record<string, string>>): Record<string, string> {
    return createChildEnvironment(this.#options.environment, listProgramVariables(inherit), set).env
  }

  async captureOutput(argv: readonly string[], cwd: string): Promise<string> {
    const output = await runForOutput({ argv, cwd }, this.#options.environment)
    if ('text' in output) return output.text
    throw new Error(`${argv[0] ?? ''} ${output.why}`)
  }

  async launch(spec: ProgramSpec, signal?: AbortSignal): Promise<Program> {
    const request = this.#options.limiter.requestPermit()
    const leave = (): void => request.cancel()
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted === true) leave()
    const permit = await request.permit.finally(() => signal?.removeEventListener('abort', leave))
    try {
      return this.#start(spec, permit)
    } catch (error) {
      permit.markStopped()
      throw new Error(`cannot run ${spec.command}: ${getErrorMessage(error)}`, { cause: error })
    }
  }

  #start(spec: ProgramSpec, permit: ProcessPermit): Program {
    const { clock, directory, environment, log, hide } = this.#options
    const table = (this.#table ??= new ProcessTable(log))
    const hideOwn = createVariableRedactor(spec.env)
    const hideAll: HideSecrets = text => hideOwn(hide(text))
    const logs = new RecentLines()
    const { cwd, env, writable } = spec
    const privatePaths = this.#options.privatePlaces.all
    const launch = createLaunch(spec, { directory, cwd, env, gatewayEnv: environment, writable, privatePaths })
    const programLog = createRedactedLog(log.child({ program: spec.name, stream: 'stderr' }), hideOwn)
    const server = new ServerProcess({
      ...launch,
      cwd: spec.cwd,
      env: table.prepare(spec.name, directory, spec.env, environment),
      maxLine: spec.maxLine,
      log: programLog,
      stderr: new StderrReader({ log: programLog, clock, hide: hideAll, recent: logs }),
      clock,
      table,
      onLine: line => spec.onLine(line),
      ...(spec.onOutput && { onOutput: spec.onOutput.bind(spec) }),
      onEnd: ({ why, detail }, exit) => {
        permit.markStopped()
        spec.onEnd(hideAll(why), exit, detail === undefined ? undefined : hideAll(detail))
      },
    })
    permit.markStarted()
    return {
      logs,
      get pid() {
        return server.pid
      },
      send: line => server.send(line),
      reply: line => server.reply(line),
      stop() {
        permit.markStopping()
        return server.stop()
      },
    }
  }

  async killOrphans(): Promise<void> {
    const { log, directory } = this.#options
    await (this.#table ??= new ProcessTable(log)).endOrphans(new Set([directory]))
  }

  /** Ends the watchdog after the last program. */
  retirePrograms(): void {
    this.#table?.retire()
  }
}
