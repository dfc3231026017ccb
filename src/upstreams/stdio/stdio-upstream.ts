import path from 'node:path'
import type { UpstreamContext } from '../../api/index.ts'
import type { StdioUpstreamConfig } from '../../config/config.gen.ts'
import { getErrorMessage } from '../../errors/errors.ts'
import type { Plugin } from '../../plugin.ts'
import { ProcessTable } from '../../processes/process-table.ts'
import { createChildEnvironment, listServerVariables } from '../../processes/environment.ts'
import { createLaunch } from '../../processes/launch.ts'
import { describeUnsupportedLimits, watchCeilings } from '../../processes/resource-limits.ts'
import { ServerProcess } from '../../processes/server-process.ts'
import { RecentLines, StderrReader } from '../../processes/stderr.ts'
import { parseSize } from '../../util/units.ts'
import type { MessageOutput, TransportEvents } from '../transport.ts'
import { SharedTransport } from '../transport.ts'
import { McpUpstream } from '../mcp-upstream.ts'
import { getPlatform } from '../../util/platform.ts'

/** Orphan sweep delay, so that the first lists come before it. */
const ORPHAN_SWEEP_DELAY_MS = 50

/** Upstreams with type `stdio`: servers that run as child processes. */
export const callStdio: Plugin<undefined> = {
  name: 'call-stdio',
  claims: { always: true },
  setup({ hooks, log, clock, slot }) {
    // The table outlives its generation: reloads keep running servers.
    const table = slot.gateway(() => new ProcessTable(log))
    table.owners++
    const directories = new Set<string>()
    hooks.createUpstream.for('stdio').tap((spec, context) => {
      if (spec.type !== 'stdio') return undefined
      directories.add(context.directory)
      const why = describeUnsupportedLimits(spec.ceilings, getPlatform())
      if (why !== undefined) context.log.warn('some "ceilings" are not supported on this machine', { why })
      const logs = new RecentLines()
      const around = { context, table, recent: logs }
      const upstream = new McpUpstream(
        spec,
        context,
        (events, _context, cwd) => new StdioTransport(spec, around, events, cwd),
      )
      return Object.assign(upstream, { logs })
    })
    hooks.ready.tap(() => {
      // Do not delay the start for orphaned processes; clients may be waiting.
      if (directories.size > 0) clock.after(ORPHAN_SWEEP_DELAY_MS, () => void table.endOrphans(directories))
    })
    // Upstreams stop after the close hooks.
    hooks.close.tap(() => {
      if (--table.owners === 0) table.retire()
    })
  },
}

/** Dependencies shared by all processes in one upstream. */
interface StdioDeps {
  readonly context: UpstreamContext
  readonly table: ProcessTable
  readonly recent: RecentLines
}

/** A child process's pipes: one message per line (2026-07-28 and before, stdio). */
class StdioTransport extends SharedTransport {
  protected readonly output: MessageOutput
  readonly #process: ServerProcess | undefined

  constructor(spec: StdioUpstreamConfig, around: StdioDeps, events: TransportEvents, cwd?: string) {
    super(around.context, events)
    try {
      this.output = this.#process = startProcess({ spec, around, events, cwd, onLine: this.receive })
    } catch (error) {
      this.output = NO_OUTPUT
      // The owning connection is not fully constructed yet.
      process.nextTick(() =>
        events.closed({
          why: `running ${spec.command} failed: ${getErrorMessage(error)}${createWindowsHint(error)}`,
        }),
      )
    }
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  get lastStderr(): string | undefined {
    return this.#process?.lastOutput
  }

  async close(): Promise<void> {
    await this.#process?.stop()
  }
}

const NO_OUTPUT: MessageOutput = { unread: 0, write: () => undefined }

interface ProcessStart {
  readonly spec: StdioUpstreamConfig
  readonly around: StdioDeps
  readonly events: TransportEvents
  readonly onLine: (line: Buffer) => void
  /** The client's working directory; undefined for the configured one. */
  readonly cwd: string | undefined
}

function startProcess({ spec, around, events, onLine, ...otherOptions }: ProcessStart): ServerProcess {
  const { context, table, recent } = around
  const { directory, environment, clock, hide } = context
  const cwd = otherOptions.cwd ?? path.resolve(directory, spec.cwd)
  const env = createEnvironment(spec, context)
  const ownHome = spec.isolation === 'shared' ? context.sandboxContext?.home : undefined
  const places = context.sandboxContext?.listPrivatePaths()
  const launch = createLaunch(spec, { directory, cwd, env, gatewayEnv: environment, ownHome, privatePaths: places })
  const log = context.log.child({ upstream: context.name, stream: 'stderr' })
  const server: ServerProcess = new ServerProcess({
    ...launch,
    env: table.prepare(context.name, directory, env, environment),
    cwd,
    maxLine: parseSize(spec.maxLine),
    stderr: new StderrReader({ log, clock, hide, recent }),
    log: context.log,
    clock,
    table,
    onLine,
    onSkipped: line => events.skipped?.({ ...line, limit: parseSize(spec.maxLine), key: 'maxLine' }),
    onEnd: reason => {
      unwatch()
      events.closed(reason)
    },
  })
  const unwatch = watchCeilings(spec, server, clock)
  return server
}

function createEnvironment(spec: StdioUpstreamConfig, { environment, log }: UpstreamContext): Record<string, string> {
  const { env, refused } = createChildEnvironment(environment, listServerVariables(spec.inheritEnv), spec.env)
  if (refused.length > 0)
    log.warn('not inheriting variables that load code; set them in "env" if needed', {
      variables: refused,
    })
  return env
}

/** Node refuses to run `.cmd` and `.bat` files without a shell, as their arguments cannot be quoted safely. */
function createWindowsHint(error: unknown): string {
  const isRefused = !getPlatform().hasModes && (error as NodeJS.ErrnoException).code === 'EINVAL'
  return isRefused ? ' – on Windows, run .cmd files with command: cmd and args: [/d, /c, npx, …]' : ''
}
