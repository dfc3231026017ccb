import { constants } from 'node:os'
import type { LoadedConfig } from '../../config/index.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { UpstreamStatus } from '../../api/gateway.ts'
import { silentLog } from '../serve/logs.ts'
import { stayAlive } from '../serve/stay-alive.ts'
import { withListeners } from '../load-source.ts'
import { isThere } from '../serve/summary.ts'
import type { Terminal } from '../output/terminal.ts'

/** Starts the upstreams of a configuration, no listener, and gives the gateway to `use` when they have settled. */
export async function withGateway<T>(
  source: LoadedConfig,
  { environment }: Terminal,
  use: (gateway: Gateway) => Promise<T>,
): Promise<T> {
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway = await createGateway(withListeners(source, {}), { log: silentLog(), environment })
  const forget = closeOnSignal(gateway, process)
  const release = stayAlive()
  try {
    await gateway.start()
    await gateway.settled()
    return await use(gateway)
  } finally {
    await gateway.close()
    forget()
    release()
  }
}

/** One line on stderr for each upstream that is not there. */
export function sayWhatIsMissing(upstreams: readonly UpstreamStatus[], { err }: Terminal): void {
  for (const { name, state, problem } of upstreams.filter(upstream => !isThere(upstream))) {
    err.line(
      `${err.paint('yellow', 'warning')} upstream "${name}" ${state === 'failed' ? 'failed' : `is ${state}`}${problem === undefined ? '' : `: ${problem}`}`,
    )
  }
}

// Children have process groups of their own: the terminal's Ctrl-C does not reach them.
function closeOnSignal(gateway: Gateway, host: NodeJS.Process): () => void {
  const stop = (signal: 'SIGINT' | 'SIGTERM'): void => {
    void gateway.close().finally(() => host.exit(128 + constants.signals[signal]))
  }
  host.once('SIGINT', stop)
  host.once('SIGTERM', stop)
  return () => {
    host.off('SIGINT', stop)
    host.off('SIGTERM', stop)
  }
}
