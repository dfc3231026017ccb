import type { LoadedConfig, Problem } from '../../config/index.ts'
import { formatProblem } from '../../config/index.ts'
import type { Log } from '../../api/index.ts'
import type { LogOptions } from '../../util/log.ts'
import { createLog } from '../../util/log.ts'
import { Secrets } from '../../util/secrets.ts'
import type { Terminal } from '../output/terminal.ts'
import type { RunningGateway } from './run-gateway.ts'
import { listLimitedEras } from '../../gateway/inspect.ts'
import { createSummaryFields, formatSummary } from './summary.ts'
import { getOwnerReason } from '../../errors/errors.ts'

/** A log on stderr that follows the configuration through reloads. */
interface ServeLog {
  readonly log: Log
  /** From here on its secrets are hidden, those of earlier configurations too. */
  hideSecrets(source: LoadedConfig): void
  /** From here on its level and format hold. */
  follow(source: LoadedConfig): void
}

/** A log that says nothing. */
export function createSilentLog(): Log {
  const ignore = (): void => {}
  const log: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => log }
  return log
}

/** A log that keeps what it is warned of, and says nothing. */
export function createWarningLog(warnings: string[]): Log {
  const log: Log = {
    ...createSilentLog(),
    warn: message => void warnings.push(message),
    child: () => log,
  }
  return log
}

/** The log of `serve`. */
export function createServeLog(terminal: Terminal): ServeLog {
  const known = new Secrets()
  const options = { ...createProblemOptions(terminal), hide: known.hide }
  return {
    log: createLog(options),
    hideSecrets: ({ secrets }) => known.add(secrets),
    follow: ({ config }) => {
      options.level = config.log.level
      options.format = chooseLogFormat(config.log.format, terminal)
    },
  }
}

/** A log of problems only. */
export function createProblemLog(terminal: Terminal): Log {
  return createLog(createProblemOptions(terminal))
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

function createProblemOptions(terminal: Terminal): Mutable<LogOptions> {
  return { level: 'warn', format: chooseLogFormat('auto', terminal), write: line => terminal.err.line(line) }
}

function chooseLogFormat(
  format: LoadedConfig['config']['log']['format'],
  { err }: Terminal,
): LogOptions['format'] {
  if (format !== 'auto') return format
  return err.width === undefined ? 'json' : 'pretty'
}

/** A function that says where clients connect, of each address once. */
export function createListenerLogger(gateway: RunningGateway, log: Log): () => void {
  const said = new WeakMap<object, string | undefined>()
  return () => {
    for (const listener of gateway.listeners) {
      if (said.has(listener) && said.get(listener) === listener.url) continue
      said.set(listener, listener.url)
      log.info('listening', { listener: listener.name, type: listener.type, url: listener.url })
    }
  }
}

/** Says what is served once every upstream is ready or has failed: to people at length, to a log on one line; nothing where the gateway ends before. */
export async function logWhenSettled(
  gateway: RunningGateway,
  { config, file }: LoadedConfig,
  { log, isOver }: { readonly log: Log; readonly isOver: () => boolean },
  { cwd, err }: Terminal,
): Promise<void> {
  await gateway.settled()
  if (isOver()) return
  const inspection = {
    ...(await gateway.inspect()),
    listeners: gateway.listeners.map(({ name, type, url }) => ({
      ...{ name, type, ...listLimitedEras(name, config) },
      ...(url === undefined ? {} : { url }),
    })),
  }
  for (const problem of inspection.unmatched) log.warn(formatProblem(problem, cwd))
  if (err.width === undefined || config.log.format === 'json')
    return log.info('serving', createSummaryFields(inspection))
  const about = { name: config.server.name, asksForKey: config.auth !== undefined, file }
  for (const line of formatSummary(inspection, about, err)) err.line(line)
}

interface ReloadOptions {
  readonly log: Log
  readonly cwd: string
  /** Told of each configuration that took effect. */
  readonly loaded: (source: LoadedConfig) => void
}

/** Logs each reload, whoever asked for it, and why a configuration was refused. */
export function logReloads(gateway: RunningGateway, { log, cwd, loaded }: ReloadOptions): void {
  gateway.on('reloaded', ({ source, changes: { upstreams, listeners, settings } }) => {
    log.info('configuration reloaded', {
      file: source.file,
      ...pickDifferences('upstreams', upstreams),
      ...pickDifferences('listeners', listeners),
      ...(settings.length === 0 ? {} : { settings }),
    })
    loaded(source)
  })
  gateway.on('refused', ({ error }) => {
    log.error('configuration not reloaded, the running one stays', {
      code: error.code,
      reason: getOwnerReason(error),
    })
    for (const problem of (error.fields['problems'] ?? []) as Problem[])
      log[problem.severity === 'warning' ? 'warn' : 'error'](formatProblem(problem, cwd))
  })
}

/** Only what is different. */
function pickDifferences(key: string, differences: object): Record<string, unknown> {
  const said = Object.entries(differences).filter(
    ([what, names]) => what !== 'kept' && (names as readonly string[]).length > 0,
  )
  return said.length === 0 ? {} : { [key]: Object.fromEntries(said) }
}
