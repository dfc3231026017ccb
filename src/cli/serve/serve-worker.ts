import type { Terminal } from '../output/terminal.ts'
import { gatewayError } from '../../errors/errors.ts'
import { guardStdout, stayAlive } from './run-gateway.ts'
import { tuneCollecting } from './collecting.ts'
import { serveLog } from './logs.ts'

/** Runs as one worker of the gateway that started this process; returns the exit code. */
export async function serveWorker(terminal: Terminal, host: NodeJS.Process): Promise<number> {
  if (host.send === undefined)
    throw gatewayError('GW_USAGE', { what: 'only a gateway starts its workers: use --workers' })
  guardStdout()
  const { log, hideSecretsOf, follow } = serveLog(terminal)
  const { runWorker } = await import('../../workers/worker.ts')
  const release = stayAlive()
  const stopCollecting = tuneCollecting()
  const code = await runWorker({
    host,
    log,
    environment: terminal.environment,
    follow: loaded => {
      hideSecretsOf(loaded)
      follow(loaded)
    },
  })
  stopCollecting()
  release()
  return code
}
