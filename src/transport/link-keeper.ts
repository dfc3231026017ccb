import type { Call, Clock, Log, UpstreamState } from '../core/ports.ts'
import { gatewayError, GatewayError, reasonOf } from '../errors.ts'
import { Backoff, HEALTHY_MS } from './backoff.ts'
import type { Link } from './link.ts'
import { visible } from './visible.ts'

/** What a keeper needs from its upstream. */
export interface KeeperHost {
  readonly name: string
  readonly log: Log
  readonly clock: Clock
  readonly startupMs: number
  /** Whether it is started again by itself; if not, by the next who needs it. */
  readonly retries: boolean
  /** Opens a link and shakes hands; `open` must be given every link as soon as it is made. */
  connect(own: (make: () => Link) => Link): Promise<Link>
  changed(state: UpstreamState, link: Link | undefined): void
}

/** Link replaced at once, without a pause, at most once in this time. */
const REPLACE_MS = 1000

/** Keeps one link to a server alive: starts it, notices its end, and tries again with growing pauses. */
export class LinkKeeper {
  state: UpstreamState = 'idle'
  problem: string | undefined = undefined
  link: Link | undefined = undefined
  readonly #host: KeeperHost
  readonly #backoff: Backoff
  #opening: Link | undefined
  #starting: Promise<void> | undefined
  #failure: GatewayError | undefined
  #dueAt = 0
  #readyAt = 0
  #replacedAt = -Infinity
  #takeBackRetry: (() => void) | undefined
  /** Links on their way out; a stop waits for them. */
  readonly #leaving = new Map<Link, Promise<void>>()

  constructor(host: KeeperHost, backoff = new Backoff()) {
    this.#host = host
    this.#backoff = backoff
  }

  /** Resolves when the first attempt has ended, well or badly. What was stopped starts again. */
  start(): Promise<void> {
    if (this.state === 'idle' || this.state === 'stopped') return this.#attempt()
    return this.#starting ?? Promise.resolve()
  }

  async stop(): Promise<void> {
    if (this.state === 'stopped') return
    const links = [this.#opening, this.link, ...this.#leaving.keys()]
    this.#takeBackRetry?.()
    this.link = undefined
    this.#become('stopped', undefined)
    for (const link of links) this.#close(link, 'the gateway has stopped it')
    await this.#starting
    await Promise.all(this.#leaving.values())
  }

  /** Stops when the last call has ended. */
  async leave(): Promise<void> {
    await this.link?.drained()
    await Promise.all(this.#leaving.values())
    await this.stop()
  }

  /** The live link, waited for while a start is under way. Rejects with a GatewayError when there is none. */
  async ready(): Promise<Link> {
    const attempt = this.#isDue() ? this.#attempt() : this.#starting
    await attempt
    if (this.link !== undefined) return this.link
    throw this.#whyNotReady(attempt !== undefined)
  }

  /** The same for a call; undefined when its client did not wait. */
  async readyFor(call: Call): Promise<Link | undefined> {
    if (this.link !== undefined) return this.link
    let takeBack = (): void => undefined
    const left = new Promise<undefined>(resolve => {
      takeBack = call.onCancel(() => resolve(undefined))
    })
    return Promise.race([this.ready(), left]).finally(() => takeBack())
  }

  /** A link has ended by itself. */
  lost(link: Link, why: string): void {
    if (link !== this.link) return
    this.link = undefined
    this.#watchLeave(link, link.retire(why))
    this.#fail(gatewayError('GW_UPSTREAM_DOWN', { upstream: this.#host.name, why }))
  }

  /** A link is up but of no use any more: takes a new one at once. */
  replace(link: Link, why: string): void {
    if (link !== this.link) return
    const { clock, log } = this.#host
    if (clock.now() - this.#replacedAt < REPLACE_MS) return this.lost(link, why)
    this.#replacedAt = clock.now()
    this.link = undefined
    this.#watchLeave(link, link.retire(why))
    log.info('connecting anew', { why })
    void this.#attempt()
  }

  #isDue(): boolean {
    return this.state === 'idle' || (this.state === 'failed' && this.#host.clock.now() >= this.#dueAt)
  }

  /** Who waited for an attempt hears how it failed; others, that the upstream is down. */
  #whyNotReady(hasWaited: boolean): GatewayError {
    const isStopped = this.state === 'stopped'
    if (hasWaited && !isStopped && this.#failure !== undefined) return this.#failure
    const why = isStopped ? 'it was stopped' : (this.problem ?? 'it has not started')
    return gatewayError('GW_UPSTREAM_DOWN', { upstream: this.#host.name, why })
  }

  #attempt(): Promise<void> {
    this.#takeBackRetry?.()
    this.#starting ??= this.#run().finally(() => {
      this.#starting = undefined
    })
    return this.#starting
  }

  async #run(): Promise<void> {
    this.#become('starting', undefined)
    let over: string | undefined
    const disarm = this.#host.clock.after(this.#host.startupMs, () => {
      over = `no handshake within ${this.#host.startupMs} ms${this.#opening?.wire.lastWords ?? ''}`
      this.#close(this.#opening, over)
    })
    try {
      const link = await this.#host.connect(make => {
        if (over !== undefined || this.state === 'stopped') throw gatewayError('GW_STOPPING')
        this.#opening = make()
        return this.#opening
      })
      this.#opened(link)
    } catch (error) {
      this.#close(this.#opening, 'it did not start')
      if (this.#isRunning()) this.#fail(this.#startFailure(error, over))
    } finally {
      disarm()
      this.#opening = undefined
    }
  }

  #opened(link: Link): void {
    if (!this.#isRunning()) return
    if (link.closedBecause !== undefined)
      throw gatewayError('GW_UPSTREAM_CLOSED', { upstream: this.#host.name, why: link.closedBecause })
    this.link = link
    this.#failure = undefined
    this.#readyAt = this.#host.clock.now()
    this.#become('ready', undefined)
  }

  #close(link: Link | undefined, why: string): void {
    if (link !== undefined) this.#watchLeave(link, link.close(why))
  }

  #watchLeave(link: Link, left: Promise<void>): void {
    const leaving = left.finally(() => {
      if (this.#leaving.get(link) === leaving) this.#leaving.delete(link)
    })
    this.#leaving.set(link, leaving)
  }

  #isRunning(): boolean {
    return this.state !== 'stopped'
  }

  #startFailure(error: unknown, over: string | undefined): GatewayError {
    const upstream = this.#host.name
    if (over !== undefined) return gatewayError('GW_UPSTREAM_START', { upstream, why: over })
    if (!(error instanceof GatewayError))
      return gatewayError('GW_UPSTREAM_START', { upstream, why: visible(reasonOf(error), 500), cause: error })
    return error.code === 'GW_UPSTREAM_CLOSED'
      ? gatewayError('GW_UPSTREAM_START', { upstream, why: error.fields.why })
      : error
  }

  #fail(failure: GatewayError): void {
    const { clock } = this.#host
    const { why } = failure.fields
    if (this.#readyAt > 0 && clock.now() - this.#readyAt >= HEALTHY_MS) this.#backoff.reset()
    this.#readyAt = 0
    this.#failure = failure
    const pause = this.#backoff.next()
    this.#dueAt = clock.now() + pause
    this.#takeBackRetry?.()
    if (this.#host.retries) this.#takeBackRetry = clock.after(pause, () => void this.#attempt())
    this.#become('failed', typeof why === 'string' ? why : failure.message)
  }

  #become(state: UpstreamState, problem: string | undefined): void {
    this.state = state
    this.problem = problem
    this.#host.changed(state, this.link)
  }
}
