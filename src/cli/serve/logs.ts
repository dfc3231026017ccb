import type { LoadedConfig, Problem } from '../../config/index.ts'
import { formatProblem } from '../../config/index.ts'
import type { Log } from '../../api/index.ts'
import type { LogOptions } from '../../util/log.ts'
import { createLog } from '../../util/log.ts'
import { Secrets } from '../../util/secrets.ts'
import type { Terminal } from '../output/terminal.ts'
import type { RunningGateway } from './run-gateway.ts'
import { createSummaryFields, formatSummary } from './summary.ts'
import { getOwnerReason } from '../../errors/errors.ts'

/** Log on stderr whose settings follow the configuration. */
interface ServeLog {
  readonly log: Log
  /** Redacts secrets from this and earlier configurations. */
  hideSecrets(source: LoadedConfig): void
  /** Applies level and format. */
  follow(source: LoadedConfig): void
}

export function createSilentLog(): Log {
  const ignore = (): void => {}
  const log: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => log }
  return log
}

/** Collects warnings and drops all else. */
export function createWarningLog(warnings: string[]): Log {
  const log: Log = {
    ...createSilentLog(),
    warn: message => void warnings.push(message),
    child: () => log,
  }
  return log
}

export function createServeLog(terminal: Terminal): ServeLog {
  const knownSecrets = new Secrets()
  const options = { ...createProblemOptions(terminal), hide: knownSecrets.hide }
  return {
    log: createLog(options),
    hideSecrets: ({ secrets }) => knownSecrets.add(secrets),
    follow: ({ config }) => {
      options.level = config.log.level
      options.format = chooseLogFormat(config.log.format, terminal)
    },
  }
}

/** Logs only warnings and errors. */
export function createProblemLog(terminal: Terminal): Log {
  return createLog(createProblemOptions(terminal))
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

function createProblemOptions(terminal: Terminal): Mutable<LogOptions> {
  return { level: 'warn', format: chooseLogFormat('auto', terminal), write: line => terminal.err.line(line) }
}

function chooseLogFormat(format: LoadedConfig['config']['log']['format'], { err }: Terminal): LogOptions['format'] {
  if (format !== 'auto') return format
  return err.width === undefined ? 'json' : 'pretty'
}

/** Returns a function that logs each listener address once. */
export function createListenerLogger(gateway: RunningGateway, log: Log): () => void {
  const loggedUrls = new WeakMap<object, string | undefined>()
  return () => {
    for (const listener of gateway.listeners) {
      if (loggedUrls.has(listener) && loggedUrls.get(listener) === listener.url) continue
      loggedUrls.set(listener, listener.url)
      log.info('listening', { listener: listener.name, type: listener.type, url: listener.url })
    }
  }
}

/** Logs a summary after every upstream is ready or has failed: detailed for a terminal, else one line. */
export async function logWhenSettled(
  gateway: RunningGateway,
  { config }: LoadedConfig,
  { log, isOver }: { readonly log: Log; readonly isOver: () => boolean },
  { cwd, err }: Terminal,
): Promise<void> {
  await gateway.settled()
  if (isOver()) return
  const inspection = await gateway.inspect()
  for (const problem of inspection.unmatched) log.warn(formatProblem(problem, cwd))
  if (err.width === undefined || config.log.format === 'json')
    return log.info('serving', createSummaryFields(inspection))
  const about = { asksForKey: config.auth !== undefined }
  for (const line of formatSummary(inspection, about, err)) err.line(line)
}

interface ReloadOptions {
  readonly log: Log
  readonly cwd: string
  /** Called for each applied configuration. */
  readonly loaded: (source: LoadedConfig) => void
}

/** Logs applied and rejected reloads. */
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
    log.error('configuration reload failed, keeping the running one', {
      code: error.code,
      reason: getOwnerReason(error),
    })
    for (const problem of (error.fields['problems'] ?? []) as Problem[])
      log[problem.severity === 'warning' ? 'warn' : 'error'](formatProblem(problem, cwd))
  })
}

function pickDifferences(key: string, differences: object): Record<string, unknown> {
  const changes = Object.entries(differences).filter(
    ([kind, names]) => kind !== 'kept' && (names as readonly string[]).length > 0,
  )
  return changes.length === 0 ? {} : { [key]: Object.fromEntries(changes) }
}
