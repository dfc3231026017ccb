import type { LoadedConfig, Problem } from '../../config/index.ts'
import { formatProblem } from '../../config/problem.ts'
import type { Log } from '../../api/index.ts'
import type { RunningGateway } from './running-gateway.ts'

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
      ...named('upstreams', upstreams),
      ...named('listeners', listeners),
      ...(settings.length === 0 ? {} : { settings }),
    })
    loaded(source)
  })
  gateway.on('refused', ({ error }) => {
    log.error('configuration not reloaded, the running one stays', {
      code: error.code,
      reason: error.message,
    })
    for (const problem of (error.fields['problems'] ?? []) as Problem[])
      log[problem.severity === 'warning' ? 'warn' : 'error'](formatProblem(problem, cwd))
  })
}

/** Only what is different. */
function named(key: string, differences: object): Record<string, unknown> {
  const said = Object.entries(differences).filter(
    ([what, names]) => what !== 'kept' && (names as readonly string[]).length > 0,
  )
  return said.length === 0 ? {} : { [key]: Object.fromEntries(said) }
}
