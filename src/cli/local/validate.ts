import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { Problem } from '../../config/index.ts'
import { plural } from '../../util/plain-text.ts'
import { formatProblemLine } from '../output/report-error.ts'
import { createWarningLog } from '../serve/logs.ts'
import { listLimitedEras } from '../../gateway/inspect.ts'
import type { SourceFlags } from '../load-source.ts'
import { loadSource, getStateDirectory } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'

/** `gateway validate --json` output. */
interface Validation {
  readonly valid: true
  readonly file: string | undefined
  readonly upstreams: number
  readonly listeners: number
  readonly plugins: number
  readonly warnings: readonly Problem[]
  /** Restricted protocol versions for modern clients, by listener. */
  readonly eras: Readonly<Record<string, string>>
}

/** With `exec`, the configuration's commands run. */
export type ValidateFlags = SourceFlags & { readonly exec?: boolean | undefined }

/** Loads the configuration and builds the graph. Rejects with a GatewayError that lists all problems. */
export async function validate(flags: ValidateFlags, terminal: Terminal): Promise<Validation> {
  const source = await loadSource(flags, terminal, flags.exec === true ? 'run' : 'leave')
  const { createGateway } = await import('../../gateway/gateway.ts')
  const warned: string[] = []
  const { environment } = terminal
  const saved = getStateDirectory(source, terminal)
  // Check existing saved state, but create none.
  const state = saved !== undefined && existsSync(saved) ? saved : undefined
  const gateway = await createGateway(source, { log: createWarningLog(warned), environment, state })
  const { plugins, unmatched } = await gateway.inspect()
  await gateway.close()
  const eras = Object.keys(source.config.listeners).map(
    name => [name, listLimitedEras(name, source.config).eras] as const,
  )
  return {
    valid: true,
    file: source.file,
    // Exclude upstreams that plugins add.
    upstreams: Object.keys(source.config.upstreams).length,
    listeners: Object.keys(source.config.listeners).length,
    plugins: plugins.length,
    eras: Object.fromEntries(eras.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))),
    warnings: [...source.warnings, ...unmatched, ...warned.map(message => createWarning(message, source.file))],
  }
}

/** Creates a warning without a location. */
function createWarning(message: string, file: string | undefined): Problem {
  return { file, line: undefined, col: undefined, pointer: '', message, severity: 'warning' }
}

/** Formats the result and restricted protocol versions; writes the warnings to stderr. */
export function formatValidation(validation: Validation, terminal: Terminal): string[] {
  const { cwd, out, err } = terminal
  const { file, upstreams, listeners, plugins, eras, warnings } = validation
  for (const line of formatWarnings(warnings, terminal)) err.line(line)
  const name = file === undefined ? 'the configuration' : relative(cwd, file)
  const counts = [plural(upstreams, 'upstream'), plural(listeners, 'listener'), plural(plugins, 'plugin')]
  return [
    `${name} ${out.paint('green', 'is valid')}: ${counts.join(', ')}`,
    ...Object.entries(eras).map(([listener, text]) => `  ${listener}: ${text}`),
  ]
}

export function formatWarnings(warnings: readonly Problem[], terminal: Terminal): string[] {
  if (warnings.length === 0) return []
  const head = terminal.err.paint(['bold', 'yellow'], plural(warnings.length, 'warning'))
  return [head, ...warnings.map(warning => formatProblemLine(warning, terminal))]
}
