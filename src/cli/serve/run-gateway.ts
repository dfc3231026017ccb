import { constants } from 'node:os'
import { isatty } from 'node:tty'
import v8 from 'node:v8'
import type { Listener, Log } from '../../api/index.ts'
import { getOwnerReason } from '../../errors/errors.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Host } from '../output/terminal.ts'

/**
 * Counts memory outside of the heap, such as buffers of large messages, as heap. Otherwise V8 collects all of the heap after
 * each 64 MiB of it, which takes more than half of the time of a 1 MB reply. V8 13 (Node 24) has the flag.
 */
const V8_MEMORY_FLAG = '--external-memory-accounted-in-global-limit'

/** Sets the V8 flag of a gateway process. A program that embeds a gateway decides for itself. */
function tuneV8(): void {
  if (process.versions.v8.startsWith('13.')) v8.setFlagsFromString(V8_MEMORY_FLAG)
}

const KEEP_ALIVE_MS = 2 ** 30
/** Clients that start a gateway ask it at once. */
const SETTLE_DELAY_MS = 50

/** A gateway as the commands need it, be it one process or several. */
export type RunningGateway = Pick<
  Gateway,
  'start' | 'drain' | 'close' | 'ended' | 'settled' | 'activity' | 'inspect' | 'control' | 'on' | 'reload'
> & { readonly listeners: readonly Pick<Listener, 'name' | 'type' | 'url' | 'ended'>[] }

interface RunOptions {
  readonly host: Host
  readonly log: Log
  /** Runs when the listeners are open. */
  readonly started?: () => void
  /** Runs a moment later, when clients have had their first answers: for what none of them waits for. */
  readonly settled?: (isOver: () => boolean) => void
  /** Runs when nothing of the gateway is left. */
  readonly stopped?: () => Promise<void>
  /** Resolves when whom it is run for has gone; default: when the clients of all listeners have. */
  readonly ended?: () => Promise<void>
  /** Runs on SIGHUP. */
  readonly hangUp?: () => void
}

/** Runs a gateway until a signal, an accident or its stdio client ends it; returns the exit code. */
export async function runGateway(
  gateway: RunningGateway,
  { host, log, started, settled, stopped, ended = () => gateway.ended, hangUp }: RunOptions,
): Promise<number> {
  const signalled = waitForStopSignal(host, log).then(async signal => {
    // Whoever presses Ctrl-C has no load balancer before it.
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
    let asked = false
    const stop = (signal: 'SIGTERM' | 'SIGINT'): void => {
      if (asked) host.exit(128 + constants.signals[signal])
      asked = true
      log.info('stopping; a second signal stops at once', { signal })
      resolve(signal)
    }
    host.on('SIGTERM', stop)
    host.on('SIGINT', stop)
  })
}

// A rejection nobody took is one exchange's bad luck; after an exception that nobody caught nothing is certain any more.
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

// The same signal comes when a terminal is closed, and then it means the end.
function handleHangUp(host: Host, hangUp: (() => void) | undefined): void {
  const hadTerminal = isatty(2)
  host.on('SIGHUP', () => {
    const terminalGone = host.platform === 'win32' || (hadTerminal && !isatty(2))
    if (terminalGone || hangUp === undefined) host.emit('SIGTERM', 'SIGTERM')
    else hangUp()
  })
}

/** Sends what code prints with `console` to stderr: stdout belongs to the protocol. A program that embeds the command line decides for itself. */
export function redirectConsole({ stdout }: Host, target: Console = console): void {
  if (stdout !== process.stdout) return
  const toStderr = target.error.bind(target)
  target.log = toStderr
  target.info = toStderr
  target.debug = toStderr
  target.dir = toStderr
}

/** Keeps the process from ending while something is awaited: the gateway's own timers never do. Returns the way to take it back. */
export function keepProcessAlive(): () => void {
  const timer = setInterval(() => {}, KEEP_ALIVE_MS)
  return () => clearInterval(timer)
}
