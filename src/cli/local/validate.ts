import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { Problem } from '../../config/index.ts'
import { plural } from '../../util/plain-text.ts'
import { problemLine } from '../output/report.ts'
import { warningLog } from '../serve/logs.ts'
import { erasOf } from '../../gateway/inspect.ts'
import { stateDirectory } from '../serve/state-directory.ts'
import { loadSource } from '../load-source.ts'
import type { SourceFlags } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'

/** Output of `gateway validate --json`. */
interface Validation {
  readonly valid: true
  readonly file: string | undefined
  readonly upstreams: number
  readonly listeners: number
  readonly plugins: number
  readonly warnings: readonly Problem[]
  /** Eras that modern clients get of listeners that do not give them everything, by listener. */
  readonly eras: Readonly<Record<string, string>>
}

/** The flags of `validate`: with `exec` the commands of the configuration run. */
export type ValidateFlags = SourceFlags & { readonly exec?: boolean | undefined }

/** Says whether a configuration is valid; returns the exit code. Rejects as `validate` does. */
export async function sayValidation(
  flags: ValidateFlags & { readonly json?: boolean | undefined },
  terminal: Terminal,
): Promise<number> {
  const validation = await validate(flags, terminal)
  if (flags.json === true) terminal.out.line(JSON.stringify(validation, undefined, 2))
  else {
    for (const line of warningLines(validation.warnings, terminal)) terminal.err.line(line)
    terminal.out.line(validationLine(validation, terminal))
    for (const [name, eras] of Object.entries(validation.eras)) terminal.out.line(`  ${name}: ${eras}`)
  }
  return 0
}

/** Loads the configuration and builds the graph. Rejects with a GatewayError that lists every problem. */
export async function validate(flags: ValidateFlags, terminal: Terminal): Promise<Validation> {
  const source = await loadSource(flags, terminal, flags.exec === true ? 'run' : 'leave')
  const { createGateway } = await import('../../gateway/gateway.ts')
  const warned: string[] = []
  const { environment } = terminal
  const saved = stateDirectory(source, terminal)
  // State that an earlier run has saved is looked at where there is any; nothing is made for it.
  const state = saved !== undefined && existsSync(saved) ? saved : undefined
  const gateway = await createGateway(source, { log: warningLog(warned), environment, state })
  const { upstreams, plugins, unmatched } = await gateway.inspect()
  await gateway.close()
  const eras = Object.keys(source.config.listeners).map(
    name => [name, erasOf(name, source.config).eras] as const,
  )
  return {
    valid: true,
    file: source.file,
    upstreams: upstreams.length,
    listeners: Object.keys(source.config.listeners).length,
    plugins: plugins.length,
    eras: Object.fromEntries(eras.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))),
    warnings: [...source.warnings, ...unmatched, ...warned.map(message => warningOf(message, source.file))],
  }
}

/** Makes a warning of a plugin about the configuration as a whole. */
function warningOf(message: string, file: string | undefined): Problem {
  return { file, line: undefined, col: undefined, pointer: '', message, severity: 'warning' }
}

/** `gateway.yaml is valid: 3 upstreams, 2 listeners, 5 plugins` */
function validationLine(validation: Validation, { cwd, out }: Terminal): string {
  const { file, upstreams, listeners, plugins } = validation
  const name = file === undefined ? 'the configuration' : relative(cwd, file)
  const counts = [plural(upstreams, 'upstream'), plural(listeners, 'listener'), plural(plugins, 'plugin')]
  return `${name} ${out.paint('green', 'is valid')}: ${counts.join(', ')}`
}

/** The warnings as people read them. */
export function warningLines(warnings: readonly Problem[], terminal: Terminal): string[] {
  if (warnings.length === 0) return []
  const head = terminal.err.paint(['bold', 'yellow'], plural(warnings.length, 'warning'))
  return [head, ...warnings.map(warning => problemLine(warning, terminal))]
}
