import { unlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import type { LoadedConfig } from '../../config/index.ts'
import type { Control } from '../../control/server.ts'
import type { Log } from '../../api/index.ts'
import { GatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { RunningGateway } from './run-gateway.ts'
import { readOwnPackage } from '../../util/version.ts'
import type { Host, Terminal } from '../output/terminal.ts'

interface ControlOptions {
  readonly gateway: RunningGateway
  readonly env: string | undefined
  readonly terminal: Terminal
  readonly log: Log
  readonly host: Host
}

/** `serve` control socket. */
interface ServeControl {
  /** Moves the socket to the path of this configuration. Resolves when it is open or has failed; never rejects. */
  follow(source: LoadedConfig): Promise<void>
  close(): Promise<void>
}

/** The gateway runs without a control socket if opening fails; the failure is logged. */
export function serveControl(options: ControlOptions): ServeControl {
  const { log, host } = options
  let open: Control | undefined
  let requestedPath: string | undefined
  let last = Promise.resolve()
  const close = async (): Promise<void> => {
    await open?.close()
    open = undefined
  }
  const moveSocket = async (source: LoadedConfig): Promise<void> => {
    const path = await chooseSocketPath(source, options)
    if (path === requestedPath) return
    requestedPath = path
    await close()
    if (path !== undefined) open = await openControlSocket(source, path, options)
  }
  const attempt = (work: () => Promise<void>): Promise<void> =>
    (last = last.then(work).catch((error: unknown) => {
      const code = error instanceof GatewayError ? error.code : 'GW_INTERNAL'
      log.warn('control socket unavailable', { code, reason: getErrorMessage(error) })
    }))
  // A second signal exits immediately, so remove the socket here.
  host.once('exit', () => removeSocket(open))
  return { follow: source => attempt(() => moveSocket(source)), close: () => attempt(close) }
}

async function chooseSocketPath(
  { config, directory, file }: LoadedConfig,
  { env, terminal, host }: ControlOptions,
): Promise<string | undefined> {
  const { enabled, socket } = config.control
  if (!enabled) return undefined
  if (socket !== undefined) return host.platform === 'win32' ? socket : resolve(directory, socket)
  const { getControlSocketPath } = await import('../../control/sockets.ts')
  return getControlSocketPath({ file, env, environment: terminal.environment }, host.pid)
}

async function openControlSocket(
  { config, file }: LoadedConfig,
  path: string,
  { gateway, log, host }: ControlOptions,
): Promise<Control> {
  const { openControl } = await import('../../control/server.ts')
  const about = {
    ...readOwnPackage(),
    pid: host.pid,
    ...(file === undefined ? {} : { config: file }),
  }
  const control = (...request: Parameters<RunningGateway['control']>): ReturnType<RunningGateway['control']> =>
    gateway.control(...request)
  const opened = await openControl(path, { about, log, control }, config.control.socket === undefined)
  log.debug('control socket opened', { socket: path })
  return opened
}

function removeSocket(open: Control | undefined): void {
  if (open === undefined) return
  try {
    unlinkSync(open.socket)
  } catch {
    // Already removed.
  }
}
