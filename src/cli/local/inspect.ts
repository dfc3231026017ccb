import type { Inspection } from '../../api/gateway.ts'
import { type LoadedConfig, describeConfig } from '../../config/index.ts'
import { erasOf } from '../../gateway/inspect.ts'
import { loadSource } from '../load-source.ts'
import type { Terminal } from '../output/terminal.ts'
import { silentLog } from '../serve/logs.ts'
import { stateDirectory } from '../serve/state-directory.ts'
import { type AskFlags, withAsked } from './ask-gateway.ts'
import type { FullInspection } from './inspection-lines.ts'

export { inspectionLines } from './inspection-lines.ts'

/** Everything there is to know of the gateway that runs, or of a configuration; `live` starts its upstreams to ask them. */
export async function inspect(flags: AskFlags, live: boolean, terminal: Terminal): Promise<FullInspection> {
  if (!live) return built(await loadSource(flags, terminal), terminal)
  return withAsked(flags, terminal, async gateway => {
    const inspection = await gateway.inspect()
    const isOpen = inspection.listeners.length > 0
    return isOpen ? inspection : { ...inspection, listeners: configuredListeners(inspection.config) }
  })
}

async function built(source: LoadedConfig, terminal: Terminal): Promise<FullInspection> {
  const { environment, cwd } = terminal
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway = await createGateway(source, {
    log: silentLog(),
    environment,
    state: stateDirectory(source, terminal),
  })
  const inspection = await gateway.inspect()
  await gateway.close()
  return {
    ...describeConfig(source, cwd),
    ...inspection,
    listeners: configuredListeners(source.config),
  }
}

// They are not open here, so this is where they would be.
function configuredListeners(config: unknown): Inspection['listeners'] {
  const { listeners } = config as Pick<LoadedConfig['config'], 'listeners'>
  return Object.entries(listeners).map(([name, listener]) => {
    const eras = erasOf(name, config as LoadedConfig['config'])
    if (listener.type !== 'http' || listener.port === 0) return { name, type: listener.type, ...eras }
    const host = listener.host.includes(':') ? `[${listener.host}]` : listener.host
    return { name, type: listener.type, ...eras, url: `http://${host}:${listener.port}${listener.path}` }
  })
}
