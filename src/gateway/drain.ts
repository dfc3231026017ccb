import type { Clock, Listener, Log } from '../api/index.ts'
import type { PipelineGate } from '../core/gate.ts'
import type { RuntimeGraph } from '../core/graph.ts'
import { parseDuration } from '../util/units.ts'

/** Says to load balancers that a gateway is not ready, and serves on for `shutdown.delay`; at once where none can stand before it. */
export async function drain(
  { config, hooks }: RuntimeGraph,
  gate: PipelineGate,
  listeners: readonly Listener[],
  { log, clock }: { readonly log: Log; readonly clock: Clock },
): Promise<void> {
  const delayMs = parseDuration(config.shutdown.delay)
  const isReachable = listeners.some(({ type }) => type === 'http')
  if (delayMs === 0 || !isReachable || gate.isDraining) return
  gate.drain()
  log.info('not ready any more, and serves on', { delayMs })
  hooks.runner('draining')?.(delayMs)
  await new Promise<void>(resolve => clock.after(delayMs, resolve))
}
