import { describeOrigins, redact } from '../config/index.ts'
import type { DescribedValue, LoadedConfig, Problem } from '../config/index.ts'
import type { Inspection } from '../gateway-api.ts'
import { silentLog } from './logs.ts'
import { loadSource } from './source.ts'
import type { SourceFlags } from './source.ts'
import { stateDirectory } from './state-directory.ts'
import type { Terminal } from './terminal.ts'
import { withGateway } from './with-gateway.ts'

export { inspectionLines } from './inspection-lines.ts'

/** What `gateway inspect --json` prints. */
export interface FullInspection extends Inspection {
  readonly file: string | undefined
  readonly files: readonly string[]
  /** The effective configuration without its secrets. */
  readonly config: unknown
  /** Each value of it with its origin. */
  readonly origins: readonly DescribedValue[]
  readonly warnings: readonly Problem[]
}

/** Everything there is to know of a configuration; `live` starts its upstreams to ask them. */
export async function inspect(
  flags: SourceFlags,
  live: boolean,
  terminal: Terminal,
): Promise<FullInspection> {
  const source = await loadSource(flags, terminal)
  const inspection = live
    ? await withGateway(source, terminal, gateway => gateway.inspect())
    : await built(source, terminal)
  return {
    file: source.file,
    files: source.files,
    config: redact(source.config, source.secrets),
    origins: describeOrigins(source, terminal.cwd),
    ...inspection,
    listeners: configuredListeners(source),
    warnings: source.warnings,
  }
}

async function built(source: LoadedConfig, terminal: Terminal): Promise<Inspection> {
  const { environment } = terminal
  const { createGateway } = await import('../gateway.ts')
  const gateway = await createGateway(source, {
    log: silentLog(),
    environment,
    state: stateDirectory(source, terminal),
  })
  const inspection = await gateway.inspect()
  await gateway.close()
  return inspection
}

// They are not open here, so this is where they would be.
function configuredListeners({ config }: LoadedConfig): Inspection['listeners'] {
  return Object.entries(config.listeners).map(([name, listener]) => {
    if (listener.type !== 'http' || listener.port === 0) return { name, type: listener.type }
    const host = listener.host.includes(':') ? `[${listener.host}]` : listener.host
    return { name, type: listener.type, url: `http://${host}:${listener.port}${listener.path}` }
  })
}
