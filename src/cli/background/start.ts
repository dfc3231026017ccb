import { closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { getAttachSocketPath, connectSocket } from '../../control/sockets.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import { sanitizeText } from '../../util/plain-text.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import { configFile, stateDirectory } from '../load-source.ts'
import { startApart } from './own-program.ts'

/** The flags that say which gateway is meant, and what it is started with. */
export interface BackgroundFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly set?: readonly string[] | undefined
  /** Stop it when no client has been there for `shutdown.idle`. */
  readonly 'until-idle'?: boolean | undefined
}

/** The one gateway of a configuration that runs in the background. */
export interface Background {
  readonly config: string
  /** The socket that clients attach to. */
  readonly socket: string
  /** The file that its log goes to. */
  readonly log: string
}

/** Time until a gateway that was started listens. */
const START_MS = 60_000
const LOOK_MS = 20
/** A larger log is kept beside the next one, in place of the one before. */
const MAX_LOG_BYTES = 10 * 1024 * 1024
/** Bytes of the log that an error quotes. */
const QUOTED = 2000
/** Exit code of what is wrong with a configuration. */
const OF_CONFIGURATION = 3

/** The gateway that the flags mean, running or not. */
export async function resolveBackground(flags: BackgroundFlags, terminal: Terminal): Promise<Background> {
  const { environment } = terminal
  const config = await configFile(flags, terminal)
  const socket = getAttachSocketPath({
    file: config,
    env: flags.env ?? environment['GATEWAY_ENV'],
    environment,
  })
  const directory = stateDirectory({ file: config }, terminal) ?? dirname(socket)
  return { config, socket, log: join(directory, 'gateway.log') }
}

/** True when clients can attach now. */
export async function isUp({ socket }: Background): Promise<boolean> {
  const connection = await connectSocket(socket)
  connection?.destroy()
  return connection !== undefined
}

/**
 * Starts a gateway that goes on when this process ends, and resolves when clients can attach to it. Of several that are
 * started at once, one stays.
 * @throws GatewayError GW_BACKGROUND, GW_CONFIG_INVALID and what else is wrong with the configuration
 */
export async function startBackground(
  background: Background,
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
  const child = startApart(host, args, dirname(config), output)
  closeSync(output)
  let why: string | undefined
  child.on('error', error => (why = error.message))
  child.on(
    'exit',
    (code, signal) => (why = lastWords(log, from) || `it ended with ${signal ?? `code ${code}`}`),
  )
  const end = performance.now() + START_MS
  while (!(await isUp(background))) {
    if (why !== undefined) {
      await refuseInvalid({ config, env, set }, terminal)
      throw gatewayError('GW_BACKGROUND', { why, log, config })
    }
    if (performance.now() > end)
      throw gatewayError('GW_BACKGROUND', {
        why: `it does not listen after ${START_MS / 1000} s`,
        log,
        config,
      })
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
  child.removeAllListeners()
  child.unref()
}

/** Says what is wrong with a configuration in the words of every other command, where that is why it did not start. */
async function refuseInvalid(flags: BackgroundFlags, terminal: Terminal): Promise<void> {
  const { validate } = await import('../local/validate.ts')
  try {
    await validate(flags, terminal)
  } catch (error) {
    if (error instanceof GatewayError && error.entry.exit === OF_CONFIGURATION) throw error
  }
}

/** Opens the log to append to it, for its owner alone. */
function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (getFileSize(file) > MAX_LOG_BYTES) renameSync(file, `${file}.1`)
  return openSync(file, 'a', 0o600)
}

function getFileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** Text that a process has left at the end of its log. */
function lastWords(file: string, from: number): string {
  const size = getFileSize(file)
  const start = Math.max(from, size - QUOTED)
  const bytes = Buffer.alloc(Math.max(0, size - start))
  const opened = openSync(file, 'r')
  try {
    readSync(opened, bytes, 0, bytes.length, start)
  } finally {
    closeSync(opened)
  }
  return sanitizeText(bytes.toString('utf8')).trim()
}
