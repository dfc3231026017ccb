import { closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { getAttachSocketPath, connectSocket } from '../../control/sockets.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import { sanitizeText } from '../../util/plain-text.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import { findConfigFile, getStateDirectory } from '../load-source.ts'
import { spawnDetached } from './run-program.ts'

export interface BackgroundFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly set?: readonly string[] | undefined
  /** Stop after `shutdown.idle` without clients. */
  readonly 'until-idle'?: boolean | undefined
}

/** A configuration's background gateway. */
export interface BackgroundGateway {
  readonly config: string
  /** Socket for `gateway attach`. */
  readonly socket: string
  /** Log file. */
  readonly log: string
}

/** Time limit until a started gateway listens. */
const START_TIMEOUT_MS = 60_000
const POLL_MS = 20
/** A larger log is rotated to `.1`. */
const MAX_LOG_BYTES = 10 * 1024 * 1024
const MAX_QUOTED_BYTES = 2000
/** Exit code for an invalid configuration. */
const CONFIG_EXIT_CODE = 3

/** Resolves the background gateway of the flags, running or not. */
export async function resolveBackground(flags: BackgroundFlags, terminal: Terminal): Promise<BackgroundGateway> {
  const { environment } = terminal
  const config = await findConfigFile(flags, terminal)
  const socket = getAttachSocketPath({
    file: config,
    env: flags.env ?? environment['GATEWAY_ENV'],
    environment,
  })
  const directory = getStateDirectory({ file: config }, terminal) ?? dirname(socket)
  return { config, socket, log: join(directory, 'gateway.log') }
}

/** True if clients can attach. */
export async function isUp({ socket }: BackgroundGateway): Promise<boolean> {
  const connection = await connectSocket(socket)
  connection?.destroy()
  return connection !== undefined
}

/**
 * Starts a detached gateway and resolves when clients can attach. Concurrent starts result in one gateway.
 * @throws GatewayError GW_BACKGROUND, GW_CONFIG_INVALID and other configuration errors
 */
export async function startBackground(
  background: BackgroundGateway,
  { env, set = [], 'until-idle': untilIdle = false }: BackgroundFlags,
  { terminal, host }: { readonly terminal: Terminal; readonly host: Host },
): Promise<void> {
  const { config, log } = background
  const sets = set.flatMap(one => ['--set', one])
  const args = [
    'serve',
    '--as-background',
    ...(untilIdle ? ['--until-idle'] : []),
    '--config',
    config,
    ...(env === undefined ? [] : ['--env', env]),
    ...sets,
  ]
  const output = openLog(log)
  const from = getFileSize(log)
  const child = spawnDetached(host, args, dirname(config), output)
  closeSync(output)
  let failure: string | undefined
  child.on('error', error => (failure = error.message))
  child.on('exit', (code, signal) => (failure = readLogTail(log, from) || `exited with ${signal ?? `code ${code}`}`))
  const end = performance.now() + START_TIMEOUT_MS
  while (!(await isUp(background))) {
    if (failure !== undefined) {
      await throwIfInvalid({ config, env, set }, terminal)
      throw gatewayError('GW_BACKGROUND', { why: failure, log, config })
    }
    if (performance.now() > end)
      throw gatewayError('GW_BACKGROUND', {
        why: `not listening after ${START_TIMEOUT_MS / 1000} s`,
        log,
        config,
      })
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  child.removeAllListeners()
  child.unref()
}

/** Throws the configuration error, if it is the reason for a failed start. */
async function throwIfInvalid(flags: BackgroundFlags, terminal: Terminal): Promise<void> {
  const { validate } = await import('../local/validate.ts')
  try {
    await validate(flags, terminal)
  } catch (error) {
    if (error instanceof GatewayError && error.entry.exit === CONFIG_EXIT_CODE) throw error
  }
}

/** Opens the log for appending, readable only by its owner. */
function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (getFileSize(file) > MAX_LOG_BYTES) renameSync(file, `${file}.1`)
  return openSync(file, 'a', 0o600)
}

function getFileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Returns the log tail from offset `from`. */
function readLogTail(file: string, from: number): string {
  const size = getFileSize(file)
  const start = Math.max(from, size - MAX_QUOTED_BYTES)
  const bytes = Buffer.alloc(Math.max(0, size - start))
  const opened = openSync(file, 'r')
  try {
    readSync(opened, bytes, 0, bytes.length, start)
  } finally {
    closeSync(opened)
  }
  return sanitizeText(bytes.toString('utf8')).trim()
}
