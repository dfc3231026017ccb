import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import type { Log } from '../../api/index.ts'
import type { LoadedConfig } from '../../config/index.ts'
import { listTlsFiles } from '../../config/index.ts'
import { formatProblem } from '../../config/problem.ts'
import { findLivingSockets } from '../../control/sockets.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import { builtins } from '../../gateway/builtins.ts'
import { parseDuration } from '../../util/units.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { SourceFlags } from '../load-source.ts'
import { loadSource, getStateDirectory, replaceListeners } from '../load-source.ts'
import { serveControl } from './control-socket.ts'
import { logWhenSettled, createListenerLogger, logReloads, createServeLog } from './logs.ts'
import type { RunningGateway } from './run-gateway.ts'
import { redirectConsole, runGateway } from './run-gateway.ts'
import { watchFiles } from './watch-files.ts'

const POLL_MS = 1000

/** Resolves when no client has been there for `idle`, a duration that a reload may change; `0s` never. */
function waitForIdle(
  gateway: Pick<RunningGateway, 'activity'>,
  log: Log,
  idle: () => string | number,
): Promise<void> {
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
      log.info('stopping: no client for shutdown.idle', { idle: idle() })
      resolve()
    }, POLL_MS).unref()
  })
}

/** The name of the listener that --stdio adds. */
const STDIO_LISTENER = 'stdio'
/** The name of the listener that `gateway attach` connects clients to. */
const ATTACH_LISTENER = 'attach'

interface ServeFlags extends SourceFlags {
  readonly stdio: boolean
  /** With a client on stdio: open what else listens too. */
  readonly 'with-listeners': boolean
  readonly watch: boolean
  readonly fresh: boolean
  /** The one gateway of this configuration in the background, to which clients attach. */
  readonly 'as-background'?: boolean | undefined
  /** Started by `gateway attach`: stop when no client has been there for `shutdown.idle`. */
  readonly 'until-idle'?: boolean | undefined
  /** Profile of the client on stdio. */
  readonly profile?: string | undefined
}

/** Runs what the configuration says until it is told to stop; returns the exit code. */
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
  // Why one was refused is logged by who listens.
  const reload = (): void => void gateway.reload().catch(() => undefined)
  const files = watchFiles(reload)
  const logListeners = createListenerLogger(gateway, log)
  const env = flags.env ?? environment['GATEWAY_ENV']
  const control = serveControl({ gateway, env, terminal, log, host })
  const onConfigApplied = (current: LoadedConfig): void => {
    running = current
    follow(current)
    if (flags.watch) files.setFiles([...listWatchedFiles(current), ...listPluginFiles(current)])
    for (const warning of current.warnings) log.warn(formatProblem(warning, cwd))
    logListeners()
  }
  const onReloaded = (current: LoadedConfig): void => {
    onConfigApplied(current)
    void control.follow(current)
  }
  logReloads(gateway, { log, cwd, loaded: onReloaded })
  const onSettled = (isOver: () => boolean): void => {
    // Now, so that what is kept is what a start needs, and is kept however this process ends.
    flushCompileCache()
    // Whoever reads that it serves may ask it by its control socket.
    void control.follow(running).then(() => logWhenSettled(gateway, source, { log, isOver }, terminal))
  }
  const onStarted = (): void => {
    // A program that reads where the gateway listens may ask it by its control socket; one client on stdio does not wait for that.
    const isStdioOnly = gateway.listeners.every(({ type }) => type === 'stdio')
    if (isStdioOnly) onConfigApplied(source)
    else void control.follow(source).then(() => onConfigApplied(source))
  }
  const waitUntilEnded = (): Promise<void> =>
    flags['until-idle'] === true
      ? Promise.race([
          waitForEnd(gateway, flags),
          waitForIdle(gateway, log, () => running.config.shutdown.idle),
        ])
      : waitForEnd(gateway, flags)
  const callbacks = {
    ...{ started: onStarted, settled: onSettled, stopped: control.close },
    ...{ ended: waitUntilEnded, hangUp: reload },
  }
  return runGateway(gateway, { host, log, ...callbacks }).catch(async (failure: unknown) => {
    throw await explainListenFailure(failure, { file: source.file, env }, terminal)
  })
}

/** The files of a configuration, and the certificates and keys that it names: those are renewed by others. */
function listWatchedFiles({ files, config, directory }: LoadedConfig): string[] {
  return [...new Set([...files, ...listTlsFiles(config).map(file => resolve(directory, file))])]
}

function checkFlags({ stdio, 'with-listeners': withListeners }: ServeFlags): void {
  if (withListeners && !stdio)
    throw gatewayError('GW_USAGE', { what: '--with-listeners is for --stdio: without it all listeners open' })
}

/** A gateway that was started for one client is done when that has gone, whatever else listens. */
function waitForEnd({ listeners, ended }: RunningGateway, { stdio }: ServeFlags): Promise<void> {
  const pipe = listeners.find(({ type }) => type === 'stdio')
  return (stdio ? pipe?.ended : undefined) ?? ended
}

/** Reads the configuration, at the start and by each reload; both refuse the same. */
async function loadServeConfig(
  flags: ServeFlags,
  terminal: Terminal,
  attach: string | undefined,
): Promise<LoadedConfig> {
  // Read once: its commands run once, and what was looked at is what is served.
  const getSetFlags = (types: ReadonlyMap<string, unknown>): string[] => createSetFlags(flags, types)
  const source = await loadSource({ ...flags, setFor: getSetFlags }, terminal)
  const { listeners, control } = source.config
  const isBackground = flags['as-background'] === true
  if (Object.keys(listeners).length === 0 && !isBackground) throw gatewayError('GW_NO_LISTENER')
  const isServed = ([, { type }]: [string, { type: string }]): boolean =>
    isBackground ? type !== 'stdio' : !flags.stdio || flags['with-listeners'] || type === 'stdio'
  const own = Object.fromEntries(Object.entries(listeners).filter(isServed))
  // A gateway with one client on stdio ends with it.
  const isShared =
    isBackground || (control.enabled && Object.values(own).some(({ type }) => type !== 'stdio'))
  if (attach === undefined || !isShared || own[ATTACH_LISTENER] !== undefined)
    return replaceListeners(source, own)
  // Of several that start at once one gets it.
  const optional = !isBackground
  return replaceListeners(source, { ...own, [ATTACH_LISTENER]: { type: 'socket', path: attach, optional } })
}

/** The socket that clients attach to; undefined where this gateway has one client, or another gateway has the socket. */
async function findAttachPath(flags: ServeFlags, terminal: Terminal): Promise<string | undefined> {
  if (flags.stdio) return undefined
  const [{ findConfigFile }, { isListening, getAttachSocketPath }] = await Promise.all([
    import('../load-source.ts'),
    import('../../control/sockets.ts'),
  ])
  const { environment } = terminal
  const file = await findConfigFile(flags, terminal).catch(() => undefined)
  if (file === undefined) return undefined
  const path = getAttachSocketPath({ file, env: flags.env ?? environment['GATEWAY_ENV'], environment })
  return flags['as-background'] !== true && (await isListening(path)) ? undefined : path
}

// Set like any other values, so that they are checked like any others.
function createSetFlags({ stdio, profile }: ServeFlags, listeners: ReadonlyMap<string, unknown>): string[] {
  const pipe = [...listeners].find(([, type]) => type === 'stdio')?.[0]
  if (profile !== undefined && pipe === undefined && !stdio)
    throw gatewayError('GW_USAGE', { what: '--profile is for a client on stdio: add --stdio' })
  const own = stdio && pipe === undefined ? [`listeners.${STDIO_LISTENER}.type=stdio`] : []
  return profile === undefined ? own : [...own, `listeners.${pipe ?? STDIO_LISTENER}.profile=${profile}`]
}

/** Files beside those of the configuration that its plugins read when they are set up. */
function listPluginFiles({ config, directory }: LoadedConfig): string[] {
  return builtins.flatMap(({ reads }) => reads?.(config) ?? []).map(file => resolve(directory, file))
}

/** The failure of a start; where the gateway of the same configuration has the address, an error that says so. */
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
