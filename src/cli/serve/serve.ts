import { unlinkSync, statSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import type { Log } from '../../api/index.ts'
import type { LoadedConfig } from '../../config/index.ts'
import { listTlsFiles } from '../../config/index.ts'
import { formatProblem } from '../../config/problem.ts'
import type { Control } from '../../control/server.ts'
import { findLivingSockets } from '../../control/sockets.ts'
import { gatewayError, GatewayError, getErrorMessage } from '../../errors/errors.ts'
import { builtins } from '../../gateway/builtins.ts'
import { listPluginCode } from '../../plugin-host/plugin-code.ts'
import { parseDuration } from '../../util/units.ts'
import { readOwnPackage } from '../../util/version.ts'
import type { SourceFlags } from '../load-source.ts'
import { getStateDirectory, loadSource, replaceListeners } from '../load-source.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import { createListenerLogger, createServeLog, logReloads, logWhenSettled, createProblemLog } from './logs.ts'
import type { RunningGateway } from './run-gateway.ts'
import { redirectConsole, runGateway } from './run-gateway.ts'
import { systemClock } from '../../util/clock.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { deriveCommandName } from '../server-names.ts'

const POLL_MS = 1000

/** Resolves after `idle` without clients; a reload may change it, and `0s` disables it. */
function waitForIdle(gateway: Pick<RunningGateway, 'activity'>, log: Log, idle: () => string | number): Promise<void> {
  return new Promise(resolve => {
    let usedAt = performance.now()
    let before = 0
    const timer = setInterval(() => {
      const now = performance.now()
      const { sessions, running, opened } = gateway.activity
      if (sessions + running > 0 || opened !== before) usedAt = now
      before = opened
      const idleMs = parseDuration(idle())
      if (idleMs === 0 || now - usedAt < idleMs) return
      clearInterval(timer)
      log.info('stopping: no clients connected for shutdown.idle', { idle: idle() })
      resolve()
    }, POLL_MS).unref()
  })
}

/** `--stdio` listener. */
const STDIO_LISTENER = 'stdio'
/** Listener for `gateway attach`. */
const ATTACH_LISTENER = 'attach'

interface ServeFlags extends SourceFlags {
  readonly stdio: boolean
  /** With --stdio, also open the other listeners. */
  readonly 'with-listeners': boolean
  readonly watch: boolean
  readonly fresh: boolean
  /** Run as the background gateway, to which clients attach. */
  readonly 'as-background'?: boolean | undefined
  /** Set by `gateway attach`: stop after `shutdown.idle` without clients. */
  readonly 'until-idle'?: boolean | undefined
  /** Stdio client profile. */
  readonly profile?: string | undefined
}

/** Runs the gateway until it stops. Returns the exit code. */
export async function runServe(flags: ServeFlags, terminal: Terminal, host: Host): Promise<number> {
  redirectConsole(host)
  checkFlags(flags)
  const { log, hideSecrets, follow } = createServeLog(terminal)
  const attach = await findAttachPath(flags, terminal)
  const load = async (): Promise<LoadedConfig> => {
    const source = await loadServeConfig(flags, terminal, attach)
    hideSecrets(source)
    return source
  }
  const source = await load()
  follow(source)
  const { environment, cwd } = terminal
  const options = { log, environment, load, state: getStateDirectory(source, terminal), fresh: flags.fresh }
  let running = source
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway: RunningGateway = await createGateway(source, options)
  // logReloads logs the reason.
  const reload = (): void => void gateway.reload().catch(() => undefined)
  const files = watchFiles(reload)
  const logListeners = createListenerLogger(gateway, log)
  const control = serveControl({ gateway, env: flags.env, terminal, log, host })
  const onConfigApplied = (current: LoadedConfig): void => {
    running = current
    follow(current)
    if (flags.watch) files.setFiles([...listWatchedFiles(current), ...listPluginFiles(current)])
    for (const warning of current.warnings) log.warn(formatProblem(warning, cwd))
    logListeners()
  }
  logReloads(gateway, { log, cwd, loaded: onConfigApplied })
  const onSettled = (isOver: () => boolean): void => {
    // Flush now: the cache then contains only startup code, even if the process is killed.
    flushCompileCache()
    // Open the control socket before logging that the gateway serves.
    void control.open(source).then(() => logWhenSettled(gateway, source, { log, isOver }, terminal))
  }
  const onStarted = (): void => {
    // Open the control socket before logging the listeners; a stdio client does not need to wait for it.
    const isStdioOnly = gateway.listeners.every(({ type }) => type === 'stdio')
    if (isStdioOnly) onConfigApplied(source)
    else void control.open(source).then(() => onConfigApplied(source))
  }
  const waitUntilEnded = (): Promise<void> =>
    flags['until-idle'] === true
      ? Promise.race([waitForEnd(gateway, flags), waitForIdle(gateway, log, () => running.config.shutdown.idle)])
      : waitForEnd(gateway, flags)
  const callbacks = {
    ...{ started: onStarted, settled: onSettled, stopped: control.close },
    ...{ ended: waitUntilEnded, hangUp: reload },
  }
  return runGateway(gateway, { host, log, ...callbacks }).catch(async (failure: unknown) => {
    throw await explainListenFailure(failure, { file: source.file, env: flags.env }, terminal)
  })
}

/** Lists configuration files, certificates and keys, which other programs may renew. */
function listWatchedFiles({ files, config, directory }: LoadedConfig): string[] {
  return [...new Set([...files, ...listTlsFiles(config).map(file => resolve(directory, file))])]
}

function checkFlags({ stdio, 'with-listeners': withListeners }: ServeFlags): void {
  if (withListeners && !stdio)
    throw gatewayError('GW_USAGE', {
      what: '--with-listeners requires --stdio; without it, all listeners are opened',
    })
}

/** With --stdio, the gateway stops when its client disconnects. */
function waitForEnd({ listeners, ended }: RunningGateway, { stdio }: ServeFlags): Promise<void> {
  const pipe = listeners.find(({ type }) => type === 'stdio')
  return (stdio ? pipe?.ended : undefined) ?? ended
}

/** Loads the configuration, for the start and for each reload. */
async function loadServeConfig(
  flags: ServeFlags,
  terminal: Terminal,
  attach: string | undefined,
): Promise<LoadedConfig> {
  // Load once, so that commands run once and the validated values are served.
  const getSetFlags = (types: ReadonlyMap<string, unknown>): string[] => createSetFlags(flags, types)
  const source = await loadSource({ ...flags, setFor: getSetFlags }, terminal)
  const { listeners, control } = source.config
  const isBackground = flags['as-background'] === true
  if (Object.keys(listeners).length === 0 && !isBackground) throw gatewayError('GW_NO_LISTENER')
  const isServed = ([, { type }]: [string, { type: string }]): boolean =>
    isBackground ? type !== 'stdio' : !flags.stdio || flags['with-listeners'] || type === 'stdio'
  const own = Object.fromEntries(Object.entries(listeners).filter(isServed))
  // A gateway for one stdio client is not shared.
  const isShared = isBackground || (control.enabled && Object.values(own).some(({ type }) => type !== 'stdio'))
  if (attach === undefined || !isShared || own[ATTACH_LISTENER] !== undefined) return replaceListeners(source, own)
  // Of concurrent gateways only one gets the attach socket.
  const optional = !isBackground
  return replaceListeners(source, { ...own, [ATTACH_LISTENER]: { type: 'socket', path: attach, optional } })
}

/** Returns the attach socket; undefined with --stdio or if another gateway has it. */
async function findAttachPath(flags: ServeFlags, terminal: Terminal): Promise<string | undefined> {
  if (flags.stdio) return undefined
  const [{ findConfigFile }, { isListening, getAttachSocketPath }] = await Promise.all([
    import('../load-source.ts'),
    import('../../control/sockets.ts'),
  ])
  const { environment } = terminal
  const file = await findConfigFile(flags, terminal).catch(() => undefined)
  if (file === undefined) return undefined
  const path = getAttachSocketPath({ file, env: flags.env, environment })
  return flags['as-background'] !== true && (await isListening(path)) ? undefined : path
}

// Set as values, so that they are validated like all others.
function createSetFlags({ stdio, profile }: ServeFlags, listeners: ReadonlyMap<string, unknown>): string[] {
  const pipe = [...listeners].find(([, type]) => type === 'stdio')?.[0]
  if (profile !== undefined && pipe === undefined && !stdio)
    throw gatewayError('GW_USAGE', { what: '--profile requires a client on stdio: add --stdio' })
  const own = stdio && pipe === undefined ? [`listeners.${STDIO_LISTENER}.type=stdio`] : []
  return profile === undefined ? own : [...own, `listeners.${pipe ?? STDIO_LISTENER}.profile=${profile}`]
}

/** Lists plugin code, and files that plugins read during setup. */
function listPluginFiles({ config, directory }: LoadedConfig): string[] {
  const read = builtins.flatMap(({ reads }) => reads?.(config) ?? []).map(file => resolve(directory, file))
  return [...read, ...listPluginCode()]
}

/** Replaces an address conflict with an error if a gateway of the same configuration is running. */
async function explainListenFailure(
  failure: unknown,
  { file, env }: { readonly file: string | undefined; readonly env: string | undefined },
  { environment }: Terminal,
): Promise<unknown> {
  if (file === undefined || !isAddressInUse(failure)) return failure
  const sockets = await findLivingSockets({ file, env, environment })
  return sockets.length === 0 ? failure : gatewayError('GW_RUNS_ALREADY', { config: file, cause: failure })
}

function isAddressInUse(failure: unknown): boolean {
  return failure instanceof GatewayError && failure.code === 'GW_LISTEN' && failure.fields['isTaken'] === true
}

interface ControlOptions {
  readonly gateway: RunningGateway
  readonly env: string | undefined
  readonly terminal: Terminal
  readonly log: Log
  readonly host: Host
}

/** `serve` control socket. */
interface ServeControl {
  /** Opens the socket once. Resolves when it is open or has failed, which is logged; never rejects. */
  open(source: LoadedConfig): Promise<void>
  close(): Promise<void>
}

function serveControl(options: ControlOptions): ServeControl {
  let control: Control | undefined
  let opening: Promise<void> | undefined
  const open = async (source: LoadedConfig): Promise<void> => {
    try {
      const path = await chooseSocketPath(source, options)
      if (path !== undefined) control = await openControlSocket(source, path, options)
    } catch (error) {
      const code = error instanceof GatewayError ? error.code : 'GW_INTERNAL'
      options.log.warn('control socket unavailable', { code, reason: getErrorMessage(error) })
    }
  }
  // A second signal exits immediately, so remove the socket here.
  options.host.once('exit', () => removeSocket(control))
  return {
    open: source => (opening ??= open(source)),
    async close() {
      await opening
      await control?.close()
      control = undefined
    },
  }
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

/** A change is reported when files stay the same for this time. */
const FILES_POLL_MS = 200

interface FileWatch {
  /** Replaces the watched files. */
  setFiles(files: readonly string[]): void
  close(): void
}

/**
 * Reports changes once the files have stopped changing. Polls, since editors and mounted volumes replace files and
 * links instead of writing them.
 */
export function watchFiles(changed: () => void, clock: Pick<typeof systemClock, 'after'> = systemClock): FileWatch {
  let files: readonly string[] = []
  let reported: ReadonlyMap<string, string> = new Map()
  let last: ReadonlyMap<string, string> = new Map()
  let cancelTimer: () => void = () => undefined
  const hasChanged = (now: ReadonlyMap<string, string>, before: ReadonlyMap<string, string>): boolean =>
    files.some(file => now.get(file) !== before.get(file))
  const poll = (): void => {
    const now = readStamps(files)
    const isReported = !hasChanged(now, last) && hasChanged(now, reported)
    last = now
    cancelTimer = clock.after(FILES_POLL_MS, poll)
    if (!isReported) return
    reported = now
    changed()
  }
  return {
    setFiles(next) {
      cancelTimer()
      files = next
      reported = new Map([...readStamps(next), ...reported])
      cancelTimer = clock.after(FILES_POLL_MS, poll)
    },
    close: () => cancelTimer(),
  }
}

function readStamps(files: readonly string[]): ReadonlyMap<string, string> {
  return new Map(files.map(file => [file, readStamp(file)]))
}

/** Returns the identity and version of a file, whose links are followed. */
function readStamp(file: string): string {
  try {
    const { size, mtimeMs, ino } = statSync(file)
    return `${size} ${mtimeMs} ${ino}`
  } catch {
    return 'missing'
  }
}

interface WrapOptions {
  readonly command: readonly string[]
  readonly name: string | undefined
  /** `K=V`, or `K` to pass the current value. */
  readonly variables: readonly string[]
  readonly port: number | undefined
  /** Arguments before `--`, which is probably missing. */
  readonly stray: readonly string[]
}

/** Runs the gateway in front of one command. Returns the exit code. */
export async function runWrap(options: WrapOptions, terminal: Terminal, host: Host): Promise<number> {
  redirectConsole(host)
  const config = createWrapConfig(options, terminal)
  const log = createProblemLog(terminal)
  const { createGateway } = await import('../../gateway/gateway.ts')
  const gateway = await createGateway(config, {
    log,
    directory: terminal.cwd,
    environment: terminal.environment,
  })
  const printUrls = (): void => {
    for (const { url } of gateway.listeners) if (url !== undefined) terminal.err.line(url)
  }
  return runGateway(gateway, { host, log, started: printUrls })
}

function createWrapConfig(
  { command, name, variables, port, stray }: WrapOptions,
  { environment }: Terminal,
): JsonObject {
  const [program, ...args] = command
  if (program === undefined || stray.length > 0) throw createNoCommandError(stray)
  const upstream = name ?? deriveCommandName(command)
  const env = Object.fromEntries(variables.map(variable => parseVariable(variable, environment)))
  return {
    version: 1,
    server: { name: upstream },
    log: { level: 'warn' },
    listeners: port === undefined ? { stdio: { type: 'stdio' } } : { http: { type: 'http', port } },
    upstreams: { [upstream]: { type: 'stdio', command: program, args, env, prefix: '', onFailure: 'fail' } },
  }
}

function createNoCommandError(stray: readonly string[]): Error {
  const command = stray.length > 0 ? stray.join(' ') : '<command>'
  return gatewayError('GW_USAGE', { what: `put -- before the command: gateway wrap -- ${command}` })
}

function parseVariable(variable: string, environment: Terminal['environment']): [string, string] {
  const at = variable.indexOf('=')
  const key = at === -1 ? variable : variable.slice(0, at)
  const value = at === -1 ? environment[key] : variable.slice(at + 1)
  if (key === '' || value === undefined) {
    throw gatewayError('GW_USAGE', {
      what: `--env-var ${variable}: ${key === '' ? 'missing name' : 'variable is not set'}`,
    })
  }
  return [key, value]
}
