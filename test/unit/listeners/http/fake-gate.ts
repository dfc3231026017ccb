import type {
  Answer,
  AskReply,
  Clock,
  Gate,
  IncomingRequest,
  Listener,
  ListenerContext,
  Log,
  Notification,
  Principal,
  Readiness,
  Refusal,
  RunningExchange,
  Session,
  SessionInit,
} from '../../../../src/api/index.ts'
import { PipelineSession, createRequestSession } from '../../../../src/core/session.ts'
import { ANONYMOUS, type Plugin } from '../../../../src/plugin.ts'
import { Payload } from '../../../../src/protocol/payload.ts'
import { rpcError } from '../../../../src/protocol/rpc-error.ts'

/** One request as the fake gate saw it; a test answers it when it likes. */
export class Seen implements RunningExchange {
  readonly session: Session
  readonly inbound: IncomingRequest
  readonly answer: Promise<Answer>
  readonly cancelled: Promise<string>
  reason: string | undefined
  resolve!: (answer: Answer) => void
  #onCancel!: (reason: string) => void

  constructor(session: Session, inbound: IncomingRequest) {
    this.session = session
    this.inbound = inbound
    this.answer = new Promise(resolve => (this.resolve = resolve))
    this.cancelled = new Promise(resolve => (this.#onCancel = resolve))
  }

  emit(method: string, params?: Record<string, unknown>): void {
    this.inbound.emit({ method, params })
  }

  /** Asks the client, where it can be asked. */
  ask(method: string, params?: Record<string, unknown>): Promise<AskReply> {
    // Detached, as the core calls it.
    const { ask } = this.inbound
    if (ask === undefined) throw new Error('the client cannot be asked')
    return ask({ method, params })
  }

  cancel(reason: string): void {
    this.reason = reason
    this.#onCancel(reason)
    this.resolve({ error: rpcError(-32603, 'the request was cancelled') })
  }
}

export const result = (value: Record<string, unknown>): Answer => ({ result: Payload.of(value) })

type Answering = (seen: Seen) => Answer | undefined

/** A gate without a road behind it: `answering` answers at once, or leaves the request to the test. */
export class FakeGate implements Gate {
  readonly info = { name: 'fake', version: '1' }
  isDraining = false
  readonly opened: Session[] = []
  readonly closed: { session: Session; reason: string }[] = []
  readonly refusals: Refusal[] = []
  readonly notifications: Notification[] = []
  readonly seen: Seen[] = []
  answering: Answering = defaultAnswer
  readonly getMetrics = (): readonly [] => []
  readonly health = (): Readiness['health'] => this.ready.health
  ready: Readiness = {
    ready: true,
    upstreams: { files: { state: 'ready' }, web: { state: 'failed', problem: 'secret path' } },
    health: { level: 'ok', findings: [] },
  }
  opening: (init: SessionInit) => Promise<void> = async () => undefined
  #waiting: { method: string; resolve: (seen: Seen) => void }[] = []

  async openSession(init: SessionInit): Promise<Session> {
    await this.opening(init)
    const session = new PipelineSession(init)
    this.opened.push(session)
    return session
  }

  closeSession(session: Session, reason: string): void {
    this.closed.push({ session, reason })
  }

  run(session: Session, inbound: IncomingRequest): RunningExchange {
    const seen = new Seen(createRequestSession(session, inbound), inbound)
    this.seen.push(seen)
    const answer = this.answering(seen)
    if (answer !== undefined) seen.resolve(answer)
    const index = this.#waiting.findIndex(({ method }) => method === inbound.method)
    if (index >= 0) this.#waiting.splice(index, 1)[0]?.resolve(seen)
    return seen
  }

  /** The next request of this method. */
  next(method: string): Promise<Seen> {
    return new Promise(resolve => this.#waiting.push({ method, resolve }))
  }

  receiveNotification(_session: Session, notification: Notification): void {
    this.notifications.push(notification)
  }

  admit(): undefined {
    return undefined
  }

  authenticate(): Principal {
    return ANONYMOUS
  }

  reportRefusal(refusal: Refusal): void {
    this.refusals.push(refusal)
  }

  serve(): undefined {
    return undefined
  }

  readiness(): Readiness {
    return this.ready
  }

  status(): ReturnType<Gate['status']> {
    return { upstreams: [], sessions: this.opened.length - this.closed.length, running: 0 }
  }
}

/** `echo/…` is answered with what came, everything else that is not `slow/…` with a fixed result. */
export function defaultAnswer({ session, inbound }: Seen): Answer | undefined {
  const { method, params } = inbound
  if (method.startsWith('slow/') || method === 'subscriptions/listen') return undefined
  if (method === 'initialize')
    return result({
      protocolVersion: session.client.version,
      capabilities: {},
      serverInfo: { name: 'fake', version: '1' },
    })
  return result({ method, arguments: params?.arguments ?? null })
}

export const realClock: Clock = {
  now: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
}

const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => quiet,
}
export const log = quiet

/** All that the plugin makes of a listener's configuration. */
export function makeListener(plugin: Plugin, spec: object, gate: Gate, clock: Clock, config: object = {}): Listener {
  let make: ((spec: object, context: ListenerContext) => Listener) | undefined
  const api = {
    options: undefined,
    config: { shutdown: { grace: 5000 }, upstreams: {}, ...config },
    hooks: { createListener: { for: () => ({ tap: (run: typeof make) => (make = run) }) } },
    log: quiet,
    clock,
  }
  void plugin.setup(api as never)
  if (make === undefined) throw new Error('the plugin taps nothing')
  return make(spec, { name: 'main', directory: '.', log: quiet, clock, gate, authenticates: false })
}
