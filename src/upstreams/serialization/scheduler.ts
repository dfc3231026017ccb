import type { Call, Exchange } from '../../api/index.ts'
import type { RpcResponse } from '../../protocol/jsonrpc.ts'
import { InFlight } from '../../protocol/rpc-peer.ts'
import type { ConnectionHost, Pending } from '../transport.ts'
import type { CancelledCalls } from './cancelled-calls.ts'
import type { Behaviour } from './tool-behaviour.ts'

/** The unit of all times below, which pass only while somebody waits: a gateway that is late is late for all. */
const TICK_MS = 50
/** The wait of a call to be alone whose tool was not seen to ask; longer where only a cancelled call of another client is in its way. */
const TRIAL = 10
const CLAIMED = 60
/** While a call that asks waits to be alone, others are kept back for the first part of each interval. */
const DRAIN = 5
const DRAIN_EVERY = 25
/** The wait of calls that ask for a connection that does not come free. */
const BLOCKED = 200
/** After a request of the server, the time in which more of the same call may come. */
const SETTLE = 2
/** The time that a client may think while others wait for that. */
const THINK = 600
/** The wait of a reply until its call is alone again. */
const RESUME = 100
/** Calls that wait; more fail at once. */
const MAX_WAITING = 10_000
const TOO_LONG = 'the client did not answer in time, and others wait'
const ADVICE = '; with "isolation: session" each client has a server of its own'

type SchedulerHost = Pick<ConnectionHost, 'clock' | 'log' | 'behaviours'>

/** The calls of the connection that a scheduler is for. */
interface ScheduledCalls {
  /** Calls that nobody waits for, while the server may still ask for them. */
  readonly cancelled: CancelledCalls
  /** Sends a call. */
  go(pending: Pending): void
  /** The requests that were sent. */
  sent(): Pending[]
  /** Tells if the server waits for a reply of this exchange's client. */
  isAsked(exchange: Exchange): boolean
  /** Cancels what the server asks the client of this exchange. */
  cancelAsked(exchange: Exchange, why: string): void
}

/** A call that waits for its start, or the one that was started alone. */
interface Scheduled {
  readonly pending: Pending
  readonly behaviour: Behaviour
  /** When it began to wait, to be alone, or to be alone again. */
  since: number
  /** Requests to its client that wait for their reply, and when the last one came. */
  asking: number
  askedAt: number | undefined
  /** Passes on the replies that wait until it is alone again. */
  readonly replies: (() => void)[]
}

/**
 * Schedules the calls of a legacy connection that all clients share, where nothing says which call a request of the server
 * belongs to. A request is given to a client only while exactly one call is open. So that there is such a moment, calls of
 * tools that ask are exclusive: one runs at a time, alone. All others go side by side. A cancelled call counts as open while
 * it may still ask, but not to its own client, who may be asked for it as well as for the next call.
 */
export class Scheduler {
  readonly #host: SchedulerHost
  readonly #calls: ScheduledCalls
  /** Calls that wait to be alone, and those that wait for one that is. */
  readonly #exclusive = new InFlight<Scheduled>()
  readonly #others = new InFlight<Scheduled>()
  #alone: Scheduled | undefined
  /** Calls that were sent and not answered. */
  #open = 0
  #ticks = 0
  /** When an exclusive call last came on. */
  #movedAt = 0
  /** True while all calls go side by side, as one does not end. */
  #isBlocked = false
  #isTicking = false
  #isAdvancing = false
  #hasWarned = false

  constructor(host: SchedulerHost, calls: ScheduledCalls) {
    this.#host = host
    this.#calls = calls
  }

  /** When a call is sent: `now` by the caller, `later` by the scheduler; `full` where there is no room for it. */
  schedule(pending: Pending, call: Call): 'now' | 'later' | 'full' {
    const behaviour = this.#host.behaviours.of(call)
    if (behaviour === undefined) return 'now'
    if (this.#size >= MAX_WAITING) return 'full'
    pending.behaviour = behaviour
    const isExclusive = !behaviour.isQuiet && !this.#isBlocked
    if (!isExclusive && this.#alone === undefined && this.#size === 0) {
      this.#open++
      return 'now'
    }
    if (isExclusive && this.#exclusive.size === 0) this.#movedAt = this.#ticks
    const line = isExclusive ? this.#exclusive : this.#others
    line.set(pending.id, scheduled(pending, behaviour, this.#ticks))
    this.#advance()
    return 'later'
  }

  /** The only call that can have asked for this; undefined where that cannot be told. */
  only(method: string): Pending | undefined {
    if (this.#open !== 1) return undefined
    const only = this.#alone?.pending ?? this.#calls.sent().find(({ behaviour }) => behaviour !== undefined)
    if (only === undefined || this.#mayBeOfAnother(only)) return undefined
    const mayBeNobodys = this.#host.behaviours.asksUncalled && method !== 'roots/list'
    return mayBeNobodys && only.behaviour?.isQuiet === true ? undefined : only
  }

  /** Tells if a call counts as one that asks: its tool is new, or was seen to, and the server does not ask out of turn. */
  asks({ behaviour }: Pending): boolean {
    return !this.#host.behaviours.asksUncalled && behaviour?.isQuiet === false
  }

  /** The client of this exchange is asked; `resumes` follows once. */
  asked(method: string, exchange: Exchange): void {
    const pending = this.only(method)
    if (pending?.behaviour === undefined || pending.call?.exchange !== exchange) return
    learn(method, this.#suspects([pending]))
    this.#alone ??= scheduled(pending, pending.behaviour, this.#ticks)
    this.#alone.asking++
    this.#alone.askedAt = this.#ticks
  }

  /** A request came that any of several calls can have caused: those will be alone, so that the next is told apart. */
  refused(method: string): void {
    const { behaviours, log } = this.#host
    const suspects = this.#suspects(this.#calls.sent())
    const isRoots = method === 'roots/list'
    if (suspects.length === 0) {
      if (!isRoots) behaviours.asksUncalled = true
      return
    }
    if (!behaviours.asksUncalled) learn(method, suspects)
    if (this.#open > 1) this.#alone?.behaviour.disturbed()
    if (isRoots || this.#hasWarned) return
    this.#hasWarned = true
    const open = this.#open
    log.warn(`requests of the server are refused that could be for any of several calls${ADVICE}`, {
      method,
      open,
    })
  }

  /** A reply has come of the client of this exchange; resolves when it may be passed on. */
  resumes(exchange: Exchange): Promise<void> | undefined {
    const alone = this.#alone
    if (alone?.pending.call?.exchange !== exchange) return undefined
    alone.asking--
    alone.behaviour.waited()
    alone.since = this.#movedAt = this.#ticks
    if (this.#isLast(alone)) return undefined
    this.#tickOn()
    return new Promise(resolve => alone.replies.push(resolve))
  }

  /** A call was answered: what that tells of its tool, and of its server. */
  answered({ behaviour, call }: Pending, response: RpcResponse): void {
    if (behaviour === undefined || call === undefined) return
    behaviour.answered(response)
    if (behaviour.asks && this.#calls.isAsked(call.exchange) && behaviour.didNotWait())
      this.#host.behaviours.asksUncalled = true
  }

  /** The server is done with a cancelled call: starts those that waited for that. */
  cancelledGone(): void {
    this.#advance()
  }

  /** A call is over, whether it was sent or not. */
  ended({ id, behaviour }: Pending): void {
    if (behaviour === undefined) return
    const line = [this.#exclusive, this.#others].find(waiting => waiting.has(id))
    line?.delete(id)
    if (line === undefined) this.#open--
    const wasAlone = this.#alone?.pending.id === id
    if (wasAlone) this.#release()
    this.#advance(wasAlone)
  }

  /** The connection is closed: gives back all that wait. */
  end(): Pending[] {
    const waiting = [...this.#exclusive.values(), ...this.#others.values()]
    this.#exclusive.clear()
    this.#others.clear()
    this.#release()
    return waiting.map(({ pending }) => pending)
  }

  get #size(): number {
    return this.#exclusive.size + this.#others.size
  }

  /** Tells if the exclusive call is the only one that can ask. */
  #isLast({ pending }: Scheduled): boolean {
    return this.#open === 1 && !this.#mayBeOfAnother(pending)
  }

  /** Tells if what the server asks may be for a cancelled call of another client. */
  #mayBeOfAnother({ call }: Pending): boolean {
    return this.#calls.cancelled.mayAsk(call?.exchange.session)
  }

  /** The observed behaviour of those of which one has asked. */
  #suspects(open: readonly Pending[]): Behaviour[] {
    const behaviours = open.flatMap(({ behaviour }) => behaviour ?? [])
    return [...new Set([...behaviours, ...this.#calls.cancelled.behaviours])]
  }

  #release(): void {
    for (const resume of this.#alone?.replies ?? []) resume()
    this.#alone = undefined
    this.#movedAt = this.#ticks
  }

  /** Starts all that may go; with `flushes`, first those that waited for the last exclusive call. What it starts may end at once, and call it again. */
  #advance(flushes = false): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    if (this.#alone !== undefined && this.#isLast(this.#alone)) resume(this.#alone)
    this.#isBlocked &&= this.#open > 0 || this.#calls.cancelled.mayAsk()
    while (this.#startNext(flushes));
    this.#isAdvancing = false
    if (this.#size > 0) this.#tickOn()
  }

  #startNext(flushes: boolean): boolean {
    const other = this.#others.first()
    if (flushes && other !== undefined) return this.#start(other, this.#others)
    const first = this.#exclusive.first()
    if (first !== undefined && this.#open === 0 && !this.#mayBeOfAnother(first.pending)) {
      this.#alone = first
      first.since = this.#movedAt = this.#ticks
      return this.#start(first, this.#exclusive)
    }
    return other !== undefined && !this.#keepsBack(first) && this.#start(other, this.#others)
  }

  #start({ pending }: Scheduled, line: InFlight<Scheduled>): true {
    line.delete(pending.id)
    this.#open++
    this.#calls.go(pending)
    return true
  }

  /** Tells if calls that go side by side wait, as one is alone or about to be. */
  #keepsBack(first: Scheduled | undefined): boolean {
    if (this.#alone !== undefined) return this.#isUndisturbed(this.#alone)
    if (first?.behaviour.asks !== true || this.#mayBeOfAnother(first.pending)) return false
    return (this.#ticks - this.#movedAt) % DRAIN_EVERY < DRAIN
  }

  /** Tells if none may start beside it: a call does nothing while its client thinks, and may never ask if it has not for long. */
  #isUndisturbed({ replies, asking, askedAt = 0, behaviour, since }: Scheduled): boolean {
    if (replies.length > 0) return true
    if (asking > 0) return this.#ticks - askedAt < SETTLE
    return behaviour.asks && this.#ticks - since < behaviour.aloneFor
  }

  #tickOn(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    this.#host.clock.after(TICK_MS, () => this.#tick())
  }

  #tick(): void {
    this.#isTicking = false
    this.#ticks++
    if (this.#alone !== undefined) this.#watch(this.#alone)
    this.#letBeside()
    this.#advance()
    if (this.#alone !== undefined && this.#alone.replies.length > 0) this.#tickOn()
  }

  /** Bounds what others wait for: a reply that waits, a client that thinks, a call that does not ask. */
  #watch(alone: Scheduled): void {
    const { pending, behaviour, since, asking, askedAt } = alone
    if (this.#ticks - since >= RESUME) resume(alone)
    // A call that has not asked by now may hang, so the next one of its kind keeps nobody back.
    if (askedAt === undefined && behaviour.asks && this.#ticks - since === behaviour.aloneFor)
      behaviour.aloneFor = 0
    if (this.#size > 0 && asking > 0 && this.#ticks - (askedAt ?? 0) >= THINK && pending.call !== undefined)
      this.#calls.cancelAsked(pending.call.exchange, TOO_LONG)
  }

  /** Calls that were to be alone and need not be, or cannot be soon, go beside the others. */
  #letBeside(): void {
    const isStuck = this.#exclusive.size > 0 && this.#ticks - this.#movedAt >= BLOCKED
    if (isStuck && !(this.#alone !== undefined && this.#alone.asking > 0)) this.#block()
    for (const waiting of this.#exclusive.values()) {
      const { id } = waiting.pending
      if (!this.#isBlocked && !this.#mayGoBeside(waiting)) continue
      this.#exclusive.delete(id)
      this.#others.set(id, waiting)
    }
  }

  /** Tells if a call need not be alone: its tool is quiet, or was not seen to ask while it waited for long enough. */
  #mayGoBeside({ pending, behaviour, since }: Scheduled): boolean {
    if (behaviour.asks || behaviour.isQuiet) return behaviour.isQuiet
    const isClaimed = this.#open === 0 && this.#mayBeOfAnother(pending)
    return this.#ticks - since >= (isClaimed ? CLAIMED : TRIAL)
  }

  /** A call does not end: nobody is asked until it has. */
  #block(): void {
    this.#isBlocked = true
    this.#release()
    this.#host.log.warn(
      `calls that ask go beside one that does not end, and their requests are refused meanwhile${ADVICE}`,
      { waiting: this.#exclusive.size, open: this.#open },
    )
  }
}

function scheduled(pending: Pending, behaviour: Behaviour, since: number): Scheduled {
  return { pending, behaviour, since, asking: 0, askedAt: undefined, replies: [] }
}

function resume({ replies }: Scheduled): void {
  for (const pass of replies.splice(0)) pass()
}

/** One suspect has asked, and of several one that asks may: nothing is learnt of the others then. */
function learn(method: string, suspects: readonly Behaviour[]): void {
  if (suspects.length === 1) suspects[0]?.asked(method)
  else if (!suspects.some(({ asks }) => asks)) for (const one of suspects) one.suspected(method)
}
