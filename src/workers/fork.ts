import type { ChildProcess, SendHandle } from 'node:child_process'
import cluster from 'node:cluster'
import type { Duplex } from 'node:stream'
import { Socket } from 'node:net'
import type { Port } from './ipc/control-channel.ts'
import { MARK_VARIABLE, marked } from '../processes/environment.ts'

/** Program that workers are started as; it knows that it is a worker. */
export interface Program {
  readonly file: string
  readonly args: readonly string[]
}

/** A worker's process, as the primary sees it. */
export interface Forked {
  readonly pid: number
  readonly port: Port
  /** Resolves when it hears what it is told, or has ended. */
  readonly up: Promise<unknown>
  /** Its line to the owner. */
  readonly stream: Duplex
  /** Resolves when it has ended, with how. */
  readonly ended: Promise<string>
  kill(): void
}

const LINE_FD = 4

/** Use that a worker makes of stdin and stdout: a client is there, a client of another worker is there, or none. */
type PipeUse = 'own' | 'others' | 'none'

const PIPES = {
  own: ['inherit', 'inherit'],
  others: ['ignore', 'ignore'],
  none: ['ignore', 'inherit'],
} as const satisfies Record<PipeUse, readonly string[]>

/** Starts one more process that accepts where the others do. */
export function forkWorker(
  { file, args }: Program,
  environment: Record<string, string>,
  pipe: PipeUse,
): Forked {
  cluster.setupPrimary({
    exec: file,
    args: [...args],
    serialization: 'advanced',
    stdio: [...PIPES[pipe], 'inherit', 'ipc', 'pipe'],
  })
  const worker = cluster.fork(environment)
  const { process: child } = worker
  worker.on('error', () => undefined)
  closeUntaken(child)
  const ended = new Promise<string>(resolve =>
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${String(code)}` : signal)),
  )
  return {
    pid: child.pid ?? 0,
    up: Promise.race([new Promise(resolve => worker.once('message', resolve)), ended]),
    ended,
    port: {
      send: (message, handle) => {
        if (worker.isConnected()) worker.send(message, handle as SendHandle | undefined, () => undefined)
      },
      onMessage: listener =>
        void worker.on('message', (message: unknown, handle?: object) => listener(message, handle)),
    },
    stream: child.stdio[LINE_FD] as unknown as Duplex,
    kill: () => void child.kill('SIGKILL'),
  }
}

/** A message of node:cluster that gives a worker a connection. */
interface NewConnection {
  readonly act?: unknown
  readonly key?: string
}

/**
 * Closes what a worker was given and did not take before it died, which node:cluster leaves open: its client would wait for ever.
 * For each listener there is one at most, as the next is given when the last one is taken.
 */
function closeUntaken(child: ChildProcess): void {
  const given = new Map<string | undefined, { close?(): void }>()
  const send = child.send.bind(child) as (...all: unknown[]) => boolean
  child.send = (...all: unknown[]) => {
    const [message, handle] = all as [NewConnection, object | null | undefined]
    if (handle && message.act === 'newconn') given.set(message.key, handle)
    return send(...all)
  }
  // One that was taken is closed here already, and closing it again does nothing.
  child.once('exit', () => {
    for (const handle of given.values()) handle.close?.()
  })
}

/** The worker's own ends of the same. */
export function ownEnds(host: NodeJS.Process): { readonly port: Port; readonly stream: Duplex } {
  return {
    port: {
      send: (message, handle) =>
        void host.send?.(message, handle as SendHandle | undefined, undefined, () => undefined),
      onMessage: listener => {
        host.on('message', (message: unknown, handle?: unknown) => listener(message, handle as object))
        // Messages that were sent before this would have been lost.
        host.send?.({ up: true })
      },
    },
    stream: new Socket({ fd: LINE_FD, readable: true, writable: true }),
  }
}

/** Variables that a worker's environment has besides ours: the mark by which it is ended when the gateway has died, and malloc's. */
export function markedFor(
  environment: Readonly<Record<string, string | undefined>>,
  mark: string,
): Record<string, string> {
  return { ...marked({}, environment[MARK_VARIABLE], mark) }
}
