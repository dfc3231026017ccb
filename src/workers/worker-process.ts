import type { Log } from '../api/index.ts'
import { gatewayError, GatewayError, reasonOf } from '../errors/errors.ts'
import { Backoff, HEALTHY_MS } from '../transport/backoff.ts'
import { Channel, type Serve } from './ipc/control-channel.ts'
import type { Forked } from './fork.ts'

/** Services that a worker's process needs from its starter. */
interface WorkerHost {
  readonly log: Log
  fork(number: number): Forked
  /** Gives the first message to a new process of this number. */
  begins(number: number): unknown
  /** A new process listens at these addresses. @throws GatewayError where another process has to take its place */
  listens(listening: readonly Listening[]): void
  /** Does what a worker asks for. */
  readonly serve: Serve
  /** Its process is there: whatever it was told meanwhile, it is told again. */
  started(worker: WorkerProcess): Promise<void>
}

/** One that listens, as the worker says. */
export interface Listening {
  readonly name: string
  readonly type: string
  readonly url: string | undefined
}

/** One worker, through all the processes that it has one after the other. */
export class WorkerProcess {
  readonly number: number
  readonly #host: WorkerHost
  readonly #backoff = new Backoff()
  #forked: Forked | undefined
  #channel: Channel | undefined
  #ended: Promise<void> = Promise.resolve()
  #startedAt = 0
  #isReady = false
  #isClosing = false
  #timer: NodeJS.Timeout | undefined
  restarts = 0
  listeners: readonly Listening[] = []

  constructor(number: number, host: WorkerHost) {
    this.number = number
    this.#host = host
  }

  get pid(): number | undefined {
    return this.#forked?.pid
  }

  get isReady(): boolean {
    return this.#isReady
  }

  get startedAt(): number {
    return this.#startedAt
  }

  /** @throws GatewayError why it cannot start. */
  async start(): Promise<void> {
    const forked = this.#host.fork(this.number)
    const channel = new Channel(forked.port, this.#host.serve)
    this.#forked = forked
    this.#channel = channel
    this.#startedAt = Date.now()
    this.#ended = forked.ended.then(how => {
      channel.close()
      this.#forked = undefined
      const wasReady = this.#isReady
      this.#isReady = false
      if (wasReady) this.#died(forked.pid, how)
    })
    await forked.up
    const listening = (await channel.request('begin', this.#host.begins(this.number))) as Listening[]
    if (this.#isClosing) return
    this.#host.listens(listening)
    this.listeners = listening
    this.#isReady = true
    await this.#host.started(this)
  }

  /** @throws GatewayError what the worker threw; GW_WORKER_GONE when it is not there. */
  request(what: string, value?: unknown, handle?: object): Promise<unknown> {
    if (this.#channel === undefined || !this.#isReady) return Promise.reject(gatewayError('GW_WORKER_GONE'))
    return this.#channel.request(what, value, handle)
  }

  /** Gives it another configuration; one that is not there now begins with it. @throws GatewayError why it keeps its own. */
  async reload(share: unknown): Promise<void> {
    try {
      this.listeners = (await this.request('reload', share)) as Listening[]
    } catch (error) {
      if (!(error instanceof GatewayError && error.code === 'GW_WORKER_GONE')) throw error
    }
  }

  /** Lets it end what it does; after `withinMs` it is killed. Resolves when it is gone. */
  async close(withinMs: number): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    if (this.#forked === undefined) return this.#ended
    this.#isReady = false
    void this.#channel?.request('end').catch(() => undefined)
    const late = setTimeout(() => this.#forked?.kill(), withinMs)
    await this.#ended
    clearTimeout(late)
  }

  #died(pid: number, how: string): void {
    if (this.#isClosing) return
    if (Date.now() - this.#startedAt >= HEALTHY_MS) this.#backoff.reset()
    const afterMs = this.#backoff.next()
    this.#host.log.error('a worker has ended; another process takes its place', {
      worker: this.number,
      pid,
      how,
      afterMs,
    })
    this.#restartAfter(afterMs)
  }

  #restartAfter(ms: number): void {
    this.#timer = setTimeout(() => {
      this.restarts++
      this.start().catch((error: unknown) => this.#failed(error))
    }, ms)
  }

  #failed(error: unknown): void {
    if (this.#isClosing) return
    const afterMs = this.#backoff.next()
    const code = error instanceof GatewayError ? error.code : 'GW_INTERNAL'
    this.#host.log.error('a worker cannot be started', {
      worker: this.number,
      code,
      reason: reasonOf(error),
      afterMs,
    })
    this.#forked?.kill()
    void this.#ended.then(() => {
      if (!this.#isClosing) this.#restartAfter(afterMs)
    })
  }
}
