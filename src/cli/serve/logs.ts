import type { LoadedConfig } from '../../config/index.ts'
import type { Log } from '../../api/index.ts'
import { createLog } from '../../util/log.ts'
import type { LogOptions } from '../../util/log.ts'
import { Secrets } from '../../util/secrets.ts'
import type { Terminal } from '../output/terminal.ts'

/** A log on stderr that follows the configuration through reloads. */
export interface ServeLog {
  readonly log: Log
  /** From here on its secrets are hidden, those of earlier configurations too. */
  hideSecretsOf(source: LoadedConfig): void
  /** From here on its level and format hold. */
  follow(source: LoadedConfig): void
}

/** A log that says nothing. */
export function silentLog(): Log {
  const nothing = (): void => {}
  const log: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => log }
  return log
}

/** A log that keeps what it is warned of, and says nothing. */
export function warningLog(warnings: string[]): Log {
  const log: Log = {
    ...silentLog(),
    warn: message => void warnings.push(message),
    child: () => log,
  }
  return log
}

/** The log of `serve`. */
export function serveLog(terminal: Terminal): ServeLog {
  const known = new Secrets()
  const options = { ...problemOptions(terminal), hide: known.hide }
  return {
    log: createLog(options),
    hideSecretsOf: ({ secrets }) => known.add(secrets),
    follow: ({ config }) => {
      options.level = config.log.level
      options.format = formatFor(config.log.format, terminal)
    },
  }
}

/** A log of problems only. */
export function problemLog(terminal: Terminal): Log {
  return createLog(problemOptions(terminal))
}

type Changeable<T> = { -readonly [K in keyof T]: T[K] }

function problemOptions(terminal: Terminal): Changeable<LogOptions> {
  return { level: 'warn', format: formatFor('auto', terminal), write: line => terminal.err.line(line) }
}

function formatFor(format: LoadedConfig['config']['log']['format'], { err }: Terminal): LogOptions['format'] {
  if (format !== 'auto') return format
  return err.width === undefined ? 'json' : 'pretty'
}
