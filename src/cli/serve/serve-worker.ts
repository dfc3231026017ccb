import type { Terminal } from '../output/terminal.ts'
import { gatewayError } from '../../errors/errors.ts'
import { guardStdout, stayAlive } from './run-gateway.ts'
import { tuneV8 } from './tune-v8.ts'
import { serveLog } from './logs.ts'

/** Runs as one worker of the gateway that started this process; returns the exit code. */
export async function serveWorker(terminal: Terminal, host: NodeJS.Process): Promise<number> {
  if (host.send === undefined)
    throw gatewayError('GW_USAGE', { what: 'only a gateway starts its workers: use --workers' })
  guardStdout()
  const { log, hideSecretsOf, follow } = serveLog(terminal)
  const { runWorker } = await import('../../workers/worker.ts')
  const release = stayAlive()
  tuneV8()
  const code = await runWorker({
    host,
    log,
    environment: terminal.environment,
    follow: loaded => {
      hideSecretsOf(loaded)
      follow(loaded)
    },
  })
  release()
  return code
}
