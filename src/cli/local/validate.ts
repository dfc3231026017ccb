import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import type { Problem } from '../../config/index.ts'
import { gatewayError } from '../../errors/errors.ts'
import { plural } from '../../util/plain-text.ts'
import { parseDuration } from '../../util/units.ts'
import { formatProblemLine } from '../output/report-error.ts'
import { createWarningLog } from '../serve/logs.ts'
import { listLimitedEras } from '../../gateway/inspect.ts'
import type { SourceFlags } from '../load-source.ts'
import { loadSource, getStateDirectory } from '../load-source.ts'
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

/** Flags that only the command has. */
interface ValidateCommandFlags extends ValidateFlags {
  readonly json?: boolean | undefined
  /** Ask the servers too. */
  readonly online?: boolean | undefined
  /** Time that they have to start. */
  readonly within?: string | undefined
}

/** Exit code where a server did not answer. */
const UNREACHABLE_EXIT_CODE = 4
const DEFAULT_WITHIN = '60s'

/** Says whether a configuration is valid; returns the exit code. Rejects as `validate` does. */
export async function runValidate(flags: ValidateCommandFlags, terminal: Terminal): Promise<number> {
  if (flags.online === true) return runOnlineValidation(flags, terminal)
  const validation = await validate(flags, terminal)
  if (flags.json === true) terminal.out.json(validation)
  else {
    printValidation(validation, terminal)
  }
  return 0
}

function printValidation(validation: Validation, terminal: Terminal): void {
  for (const line of formatWarnings(validation.warnings, terminal)) terminal.err.line(line)
  terminal.out.line(formatValidation(validation, terminal))
  for (const [name, eras] of Object.entries(validation.eras)) terminal.out.line(`  ${name}: ${eras}`)
}

/** The same, and what the servers say: their lists are known then, so that rules about them can be checked. */
async function runOnlineValidation(flags: ValidateCommandFlags, terminal: Terminal): Promise<number> {
  const ms = parseWait(flags.within ?? DEFAULT_WITHIN)
  const offline = await validate({ ...flags, exec: true }, terminal)
  const { checkServersOnline, isReached, formatOnline } = await import('./validate-online.ts')
  const { warnings, ...online } = await checkServersOnline(await loadSource(flags, terminal), terminal, ms)
  const known = new Set(warnings.map(({ pointer }) => pointer))
  const others = offline.warnings.filter(({ pointer }) => pointer === '' || !known.has(pointer))
  const validation = { ...offline, warnings: [...others, ...warnings] }
  if (flags.json === true) terminal.out.json({ ...validation, online })
  else {
    printValidation(validation, terminal)
    for (const line of formatOnline({ warnings, ...online }, terminal)) terminal.out.line(line)
  }
  return online.servers.every(isReached) ? 0 : UNREACHABLE_EXIT_CODE
}

function parseWait(text: string): number {
  try {
    return parseDuration(text)
  } catch {
    throw gatewayError('GW_USAGE', { what: `--within "${text}" is no duration such as 30s` })
  }
}

/** Loads the configuration and builds the graph. Rejects with a GatewayError that lists every problem. */
export async function validate(flags: ValidateFlags, terminal: Terminal): Promise<Validation> {
  const source = await loadSource(flags, terminal, flags.exec === true ? 'run' : 'leave')
  const { createGateway } = await import('../../gateway/gateway.ts')
  const warned: string[] = []
  const { environment } = terminal
  const saved = getStateDirectory(source, terminal)
  // State that an earlier run has saved is looked at where there is any; nothing is made for it.
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
    // Those of plugins, such as the one that has kept results, nobody has written.
    upstreams: Object.keys(source.config.upstreams).length,
    listeners: Object.keys(source.config.listeners).length,
    plugins: plugins.length,
    eras: Object.fromEntries(eras.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))),
    warnings: [
      ...source.warnings,
      ...unmatched,
      ...warned.map(message => createWarning(message, source.file)),
    ],
  }
}

/** Makes a warning of a plugin about the configuration as a whole. */
function createWarning(message: string, file: string | undefined): Problem {
  return { file, line: undefined, col: undefined, pointer: '', message, severity: 'warning' }
}

/** `gateway.yaml is valid: 3 upstreams, 2 listeners, 5 plugins` */
function formatValidation(validation: Validation, { cwd, out }: Terminal): string {
  const { file, upstreams, listeners, plugins } = validation
  const name = file === undefined ? 'the configuration' : relative(cwd, file)
  const counts = [plural(upstreams, 'upstream'), plural(listeners, 'listener'), plural(plugins, 'plugin')]
  return `${name} ${out.paint('green', 'is valid')}: ${counts.join(', ')}`
}

/** The warnings as people read them. */
export function formatWarnings(warnings: readonly Problem[], terminal: Terminal): string[] {
  if (warnings.length === 0) return []
  const head = terminal.err.paint(['bold', 'yellow'], plural(warnings.length, 'warning'))
  return [head, ...warnings.map(warning => formatProblemLine(warning, terminal))]
}
