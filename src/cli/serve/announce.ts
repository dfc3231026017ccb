import { formatProblem, type LoadedConfig } from '../../config/index.ts'
import type { Log } from '../../api/index.ts'
import type { RunningGateway } from './running-gateway.ts'
import { erasOf } from '../../gateway/inspect.ts'
import { summaryFields, summaryLines } from './summary.ts'
import type { Terminal } from '../output/terminal.ts'

/** A function that says where clients connect, of each address once. */
export function listenerAnnouncer(gateway: RunningGateway, log: Log): () => void {
  const said = new WeakMap<object, string | undefined>()
  return () => {
    for (const listener of gateway.listeners) {
      if (said.has(listener) && said.get(listener) === listener.url) continue
      said.set(listener, listener.url)
      log.info('listening', { listener: listener.name, type: listener.type, url: listener.url })
    }
  }
}

/** Says what is served once every upstream is ready or has failed: to people at length, to a log on one line. */
export async function announceWhenSettled(
  gateway: RunningGateway,
  { config, file }: LoadedConfig,
  log: Log,
  { cwd, err }: Terminal,
): Promise<void> {
  await gateway.settled()
  const inspection = {
    ...(await gateway.inspect()),
    listeners: gateway.listeners.map(({ name, type, url }) => ({
      ...{ name, type, ...erasOf(name, config) },
      ...(url === undefined ? {} : { url }),
    })),
  }
  for (const problem of inspection.unmatched) log.warn(formatProblem(problem, cwd))
  if (err.width === undefined || config.log.format === 'json')
    return log.info('serving', summaryFields(inspection))
  const about = { name: config.server.name, asksForKey: config.auth !== undefined, file }
  for (const line of summaryLines(inspection, about, err)) err.line(line)
}
