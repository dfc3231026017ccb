import { constants } from 'node:os'
import { isatty } from 'node:tty'
import v8 from 'node:v8'
import type { Listener, Log } from '../../api/index.ts'
import { getOwnerReason } from '../../errors/errors.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Host } from '../output/terminal.ts'

/**
 * Counts external memory (large buffers) as heap. Otherwise V8 runs a full collection every 64 MiB, which takes over
 * half the time of a 1 MB response. Available since V8 13 (Node 24).
 */
const V8_MEMORY_FLAG = '--external-memory-accounted-in-global-limit'

/** Sets a gateway process's V8 flag; embedding programs are not affected. */
function tuneV8(): void {
  if (process.versions.v8.startsWith('13.')) v8.setFlagsFromString(V8_MEMORY_FLAG)
}

const KEEP_ALIVE_MS = 2 ** 30
/** Delay for clients that send requests immediately after the start. */
const SETTLE_DELAY_MS = 50

/** Gateway of one or several processes. */
export type RunningGateway = Pick<
  Gateway,
  'start' | 'drain' | 'close' | 'ended' | 'settled' | 'activity' | 'inspect' | 'control' | 'on' | 'reload'
> & { readonly listeners: readonly Pick<Listener, 'name' | 'type' | 'url' | 'ended'>[] }

interface RunOptions {
  readonly host: Host
  readonly log: Log
  /** Runs after the listeners are open. */
  readonly started?: () => void
  /** Runs shortly after the start, for tasks that no client waits for. */
  readonly settled?: (isOver: () => boolean) => void
  /** Runs after the gateway is closed. */
  readonly stopped?: () => Promise<void>
  /** Resolves when the gateway should stop; default: when all listeners have ended. */
  readonly ended?: () => Promise<void>
  /** Runs on SIGHUP. */
  readonly hangUp?: () => void
}

/** Runs a gateway until a signal, an uncaught exception or the end of its client. Returns the exit code. */
export async function runGateway(
  gateway: RunningGateway,
  { host, log, started, settled, stopped, ended = () => gateway.ended, hangUp }: RunOptions,
): Promise<number> {
  const signalled = waitForStopSignal(host, log).then(async signal => {
    // Ctrl-C (SIGINT) needs no draining for a load balancer.
    if (signal === 'SIGTERM') await gateway.drain()
    return 0
  })
  const accident = logUncaughtErrors(host, log)
  handleHangUp(host, hangUp)
  const release = keepProcessAlive()
  tuneV8()
  let later: NodeJS.Timeout | undefined
  let isOver = false
  try {
    await gateway.start()
    started?.()
    if (settled !== undefined) later = setTimeout(settled, SETTLE_DELAY_MS, () => isOver)
    return await Promise.race([signalled, accident, ended().then(() => 0)])
  } finally {
    isOver = true
    clearTimeout(later)
    await gateway.close()
    await stopped?.()
    release()
  }
}

function waitForStopSignal(host: Host, log: Log): Promise<'SIGTERM' | 'SIGINT'> {
  return new Promise(resolve => {
    let isStopping = false
    const stop = (signal: 'SIGTERM' | 'SIGINT'): void => {
      if (isStopping) host.exit(128 + constants.signals[signal])
      isStopping = true
      log.info('stopping; a second signal stops immediately', { signal })
      resolve(signal)
    }
    host.on('SIGTERM', stop)
    host.on('SIGINT', stop)
  })
}

// An unhandled rejection affects one exchange; after an uncaught exception the process state is unknown, so stop.
function logUncaughtErrors(host: Host, log: Log): Promise<number> {
  host.on('unhandledRejection', thrown => log.error('unhandled rejection', describeInternalError(thrown)))
  return new Promise(resolve => {
    host.on('uncaughtException', thrown => {
      log.error('uncaught exception, stopping', describeInternalError(thrown))
      resolve(1)
    })
  })
}

function describeInternalError(thrown: unknown): Record<string, unknown> {
  return {
    code: 'GW_INTERNAL',
    reason: getOwnerReason(thrown),
    stack: thrown instanceof Error ? thrown.stack : undefined,
  }
}

// SIGHUP of a closed terminal means stop.
function handleHangUp(host: Host, hangUp: (() => void) | undefined): void {
  const hadTerminal = isatty(2)
  host.on('SIGHUP', () => {
    const terminalGone = host.platform === 'win32' || (hadTerminal && !isatty(2))
    if (terminalGone || hangUp === undefined) host.emit('SIGTERM', 'SIGTERM')
    else hangUp()
  })
}

/** Redirects `console` to stderr, since stdout carries the protocol; embedding programs are not affected. */
export function redirectConsole({ stdout }: Host, target: Console = console): void {
  if (stdout !== process.stdout) return
  const toStderr = target.error.bind(target)
  target.log = toStderr
  target.info = toStderr
  target.debug = toStderr
  target.dir = toStderr
}

/** Keeps the process alive with a timer, since gateway timers are unreferenced. Returns a release function. */
export function keepProcessAlive(): () => void {
  const timer = setInterval(() => {}, KEEP_ALIVE_MS)
  return () => clearInterval(timer)
}
