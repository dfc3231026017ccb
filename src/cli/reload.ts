import type { LoadedConfig } from '../config/index.ts'
import type { Problem } from '../config/index.ts'
import { formatProblem } from '../config/problem.ts'
import type { Log } from '../core/ports.ts'
import type { Gateway } from '../gateway.ts'
import { knownError } from './report.ts'

interface ReloadOptions {
  readonly load: () => Promise<LoadedConfig>
  readonly log: Log
  readonly cwd: string
  /** Told of each configuration that took effect. */
  readonly loaded?: (source: LoadedConfig) => void
}

/** A function that reads the configuration again, one after the other. What is invalid changes nothing. */
export function reloader(gateway: Gateway, options: ReloadOptions): () => void {
  let last = Promise.resolve()
  return () => {
    last = last.then(() => reload(gateway, options))
  }
}

async function reload(gateway: Gateway, { load, log, cwd, loaded }: ReloadOptions): Promise<void> {
  try {
    const source = await load()
    await gateway.reload(source)
    log.info('configuration reloaded', { file: source.file })
    loaded?.(source)
  } catch (thrown) {
    const error = await knownError(thrown)
    log.error('configuration not reloaded, the running one stays', {
      code: error.code,
      reason: error.message,
    })
    for (const problem of (error.fields['problems'] ?? []) as Problem[])
      log.error(formatProblem(problem, cwd))
  }
}
