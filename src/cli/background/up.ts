import { closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { getEnvironmentName } from '../../config/index.ts'
import { connectSocket, getAttachSocketPath } from '../../control/sockets.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import { getExitCode } from '../../errors/table.ts'
import { sanitizeText } from '../../util/plain-text.ts'
import { findConfigFile, formatConfigFlags, getStateDirectory } from '../load-source.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { ControlFlags, PsOutput } from '../remote/control-connection.ts'
import { withControl } from '../remote/control-connection.ts'
import { formatPs, requestPs } from '../remote/control-requests.ts'
import { spawnDetached } from './run-program.ts'

interface BackgroundFlags {
  readonly config?: string | undefined
  readonly env?: string | undefined
  readonly set?: readonly string[] | undefined
  readonly 'env-file'?: readonly string[] | undefined
  /** Stop after `shutdown.idle` without clients. */
  readonly 'until-idle'?: boolean | undefined
}

/** A configuration's background gateway. */
interface BackgroundGateway {
  readonly config: string
  /** Socket for `gateway attach`. */
  readonly socket: string
  /** Log file. */
  readonly log: string
}

/** Time limit until a started gateway listens. */
const START_TIMEOUT_MS = 60_000
const START_POLL_MS = 20
/** A larger log is rotated to `.1`. */
const MAX_LOG_BYTES = 10 * 1024 * 1024
const MAX_QUOTED_BYTES = 2000
/** Exit code for an invalid configuration. */
const CONFIG_EXIT_CODE = 3

/** Resolves the background gateway of the flags, running or not. */
export async function resolveBackground(flags: BackgroundFlags, terminal: Terminal): Promise<BackgroundGateway> {
  const { environment } = terminal
  const config = await findConfigFile(flags, terminal)
  const env = getEnvironmentName({ env: flags.env, environment })
  const socket = getAttachSocketPath({ file: config, env: flags.env, environment })
  const directory = getStateDirectory({ file: config, env }, terminal) ?? dirname(socket)
  return { config, socket, log: join(directory, 'gateway.log') }
}

/** True if clients can attach. */
async function isUp({ socket }: BackgroundGateway): Promise<boolean> {
  const connection = await connectSocket(socket)
  connection?.destroy()
  return connection !== undefined
}

/**
 * Starts a detached gateway and resolves when clients can attach. Concurrent starts result in one gateway.
 * @throws GatewayError GW_BACKGROUND, GW_CONFIG_INVALID and other configuration errors
 */
async function startBackground(
  background: BackgroundGateway,
  { env, set = [], 'env-file': envFiles = [], 'until-idle': untilIdle = false }: BackgroundFlags,
  { terminal, host }: { readonly terminal: Terminal; readonly host: Host },
): Promise<void> {
  const { config, log } = background
  const sets = [
    ...set.flatMap(one => ['--set', one]),
    ...envFiles.flatMap(one => ['--env-file', resolve(terminal.cwd, one)]),
  ]
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
      await throwIfInvalid({ config, env, set, 'env-file': envFiles }, terminal)
      throw gatewayError('GW_BACKGROUND', { why: failure, log, config })
    }
    if (performance.now() > end)
      throw gatewayError('GW_BACKGROUND', {
        why: `not listening after ${START_TIMEOUT_MS / 1000} s`,
        log,
        config,
      })
    await new Promise(resolve => setTimeout(resolve, START_POLL_MS))
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

interface JsonFlags {
  readonly json: boolean
}

interface UpResult extends BackgroundGateway {
  readonly started: boolean
}

const POLL_MS = 50
/** Time limit for open requests, in addition to the configured one. */
const STOP_TIMEOUT_MS = 90_000

/** Starts the background gateway unless it is running. */
export async function ensureRunning(flags: BackgroundFlags, terminal: Terminal, host: Host): Promise<UpResult> {
  const background = await resolveBackground(flags, terminal)
  if (await isUp(background)) return { ...background, started: false }
  await startBackground(background, flags, { terminal, host })
  return { ...background, started: true }
}

export async function runUp(flags: BackgroundFlags & JsonFlags, terminal: Terminal, host: Host): Promise<number> {
  const result = await ensureRunning(flags, terminal, host)
  const { out, cwd } = terminal
  if (flags.json) out.json(result)
  else {
    const config = relative(cwd, result.config)
    const selection = formatConfigFlags(result.config, flags.env, terminal)
    out.line(
      result.started
        ? `${out.paint('green', 'started')} the gateway of ${config} in the background`
        : `the gateway of ${config} is already running`,
    )
    out.line(`  ${out.paint('dim', 'log:')}      ${result.log}`)
    out.line(`  ${out.paint('dim', 'connect:')}  gateway attach ${selection}`)
    out.line(`  ${out.paint('dim', 'status:')}   gateway status ${selection}`)
    out.line(`  ${out.paint('dim', 'stop:')}     gateway down ${selection}`)
  }
  return 0
}

/** Sends SIGTERM to the running gateway and waits until its process exits. */
export async function stopGateway(flags: ControlFlags, terminal: Terminal): Promise<{ readonly pid: number }> {
  const { socket, about } = await withControl(flags, terminal, client => Promise.resolve(client))
  const { pid } = about
  process.kill(pid, 'SIGTERM')
  const end = performance.now() + STOP_TIMEOUT_MS
  while (isAlive(pid)) {
    if (performance.now() > end)
      throw gatewayError('GW_CONTROL', {
        socket,
        why: `process ${pid} did not stop within ${STOP_TIMEOUT_MS / 1000} s`,
      })
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  return { pid }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Gateway state with its log and whether clients can attach. */
interface GatewayStatus extends PsOutput {
  readonly background: BackgroundGateway & { readonly attachable: boolean }
}

/** Prints the running gateway's state, or how to start it. */
export async function runStatus(flags: ControlFlags & JsonFlags, terminal: Terminal): Promise<number> {
  const { out } = terminal
  try {
    const state = await readStatus(flags, terminal)
    if (flags.json) out.json(state)
    else for (const line of formatStatus(state, terminal)) out.line(line)
    return 0
  } catch (error) {
    if (flags.json || !(error instanceof GatewayError) || error.code !== 'GW_NO_GATEWAY') throw error
    out.line(`not running: start it with gateway up ${String(error.fields.config)}`)
    return getExitCode(error.entry)
  }
}

async function readStatus(flags: ControlFlags, terminal: Terminal): Promise<GatewayStatus> {
  const now = await requestPs(flags, terminal)
  const config = flags.config ?? (flags.socket === undefined ? undefined : now.gateway.config)
  const background = await resolveBackground({ config, env: flags.env }, terminal)
  return { ...now, background: { ...background, attachable: await isUp(background) } }
}

/**
 * Finds a configuration's attach socket; only one of its gateways has it.
 * @throws GatewayError GW_NO_GATEWAY
 */
export async function findAttachSocket(flags: BackgroundFlags, terminal: Terminal): Promise<BackgroundGateway> {
  const background = await resolveBackground(flags, terminal)
  if (await isUp(background)) return background
  throw gatewayError('GW_NO_GATEWAY', { config: formatConfigFlags(background.config, flags.env, terminal) })
}

function formatStatus(state: GatewayStatus, terminal: Terminal): string[] {
  const { background, ...now } = state
  const { out } = terminal
  const attach = background.attachable
    ? `gateway attach ${formatConfigFlags(background.config, now.gateway.env ?? '', terminal)}`
    : 'cannot attach here: another process uses the socket, or attaching is disabled'
  return [
    ...formatPs(now, Date.now(), terminal),
    '',
    `${out.paint('dim', 'log')}     ${background.log}`,
    `${out.paint('dim', 'clients')} ${attach}`,
  ]
}
