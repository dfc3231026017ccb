import type { Call, Clock, Exchange, PatienceLimit } from '../../../src/plugin.ts'
import { isObject, principalKey } from '../../../src/plugin.ts'
import type { TaskService, TaskView } from '../tasks/service.ts'
import type { TaskCaller } from '../types.ts'
import type { CallbackTokens } from '../callback.ts'
import { MAX_WAIT_MS } from './schemas.ts'

/** Tools that wait for work to end. */
const WAITING: ReadonlySet<unknown> = new Set(['delegate_task', 'agent_reply'])

interface PendingCall {
  isOver: boolean
  end: (() => void) | undefined
}

/** Stops waiting when a client's patience expires; the task continues in the task service. */
export class CallPatience {
  readonly #waiting = new WeakMap<Exchange, PendingCall>()

  /** Returns the client's known patience, or the call's own `wait` argument. */
  resolvePatience(limit: PatienceLimit | undefined, { params, exchange }: Call): PatienceLimit | undefined {
    const { name, arguments: args } = params ?? {}
    const own = WAITING.has(name) ? (parseWait(args) ?? MAX_WAIT_MS) : Infinity
    const ms = Math.min(limit?.ms ?? Infinity, own)
    if (ms === Infinity) return undefined
    const finishWait = (): void => {
      const waiting = this.#getPendingCall(exchange)
      waiting.isOver = true
      waiting.end?.()
    }
    return { ms: Math.max(0, ms), onTimeout: finishWait }
  }

  /** Runs `end` when the client stops waiting; returns a function to unregister. */
  trackWait(exchange: Exchange, end: () => void): () => void {
    const waiting = this.#getPendingCall(exchange)
    waiting.end = end
    if (waiting.isOver) end()
    return () => void (waiting.end = undefined)
  }

  #getPendingCall(exchange: Exchange): PendingCall {
    const existing = this.#waiting.get(exchange)
    if (existing !== undefined) return existing
    const made: PendingCall = { isOver: false, end: undefined }
    this.#waiting.set(exchange, made)
    return made
  }
}

/** Parses the call's wait time in milliseconds. */
export function parseWait(args: unknown): number | undefined {
  const wait = (args as { wait_ms?: unknown } | undefined)?.wait_ms
  return typeof wait === 'number' && Number.isFinite(wait) ? Math.min(wait, MAX_WAIT_MS) : undefined
}

/** Identifies a call's caller. @throws GatewayError for an expired agent token */
export function identifyCaller(exchange: Exchange, tokens: CallbackTokens): TaskCaller {
  const { principal, session } = exchange
  const grant = tokens.resolveGrant(principal)
  return {
    owner: principalKey(principal),
    issuer: principal.issuer,
    subject: principal.subject,
    parent: grant === undefined ? undefined : { task: grant.task, root: grant.root, depth: grant.depth },
    identity: { principal, profile: session.profile },
    trace: readTrace(exchange),
  }
}

/** Finds a task if the caller may access it. */
export function findTask(service: TaskService, task: unknown, caller: TaskCaller): TaskView | undefined {
  const view = typeof task === 'string' ? service.view(task, caller.owner) : undefined
  return view !== undefined && mayAccess(service, view, caller) ? view : undefined
}

/** Lists the newest tasks that the caller may access. */
export function listTasks(service: TaskService, caller: TaskCaller, limit: number): readonly TaskView[] {
  const views = service.list(caller.owner, { after: undefined, limit })
  return views.filter(view => mayAccess(service, view, caller))
}

/** Clients see all their tasks, agents only those they started: an agent must not answer its own questions. */
function mayAccess(service: TaskService, view: TaskView, { owner, parent }: TaskCaller): boolean {
  if (parent === undefined) return true
  for (let at = view.parent; at !== undefined; at = service.view(at, owner)?.parent) if (at === parent.task) return true
  return false
}

const TRACE = ['traceparent', 'tracestate', 'baggage'] as const

/** Reads the trace context from `_meta`, or else from the headers. */
function readTrace({ params, headers }: Exchange): Readonly<Record<string, string>> | undefined {
  const meta = isObject(params?._meta) ? params._meta : {}
  const traceEntries = TRACE.flatMap(key => {
    const value = meta[key] ?? headers[key]
    return typeof value === 'string' ? [[key, value] as const] : []
  })
  return traceEntries.length === 0 ? undefined : Object.fromEntries(traceEntries)
}

export interface McpDeps {
  /** Returns the current service, which a reload may replace. */
  readonly service: () => TaskService
  readonly clock: Clock
  readonly foreground: Foreground
  readonly patience: CallPatience
  readonly tokens: CallbackTokens
}

/** Tasks known only to open calls; cancelled with their last call. */
export class Foreground {
  readonly #callCounts = new Map<string, number>()
  readonly #enders = new Set<() => void>()

  /** Registers a waiting call. Returns a function that unregisters it and returns true if no call is left. */
  hold(task: string): () => boolean {
    this.#callCounts.set(task, (this.#callCounts.get(task) ?? 0) + 1)
    let isHeld = true
    return () => {
      const count = this.#callCounts.get(task)
      if (!isHeld || count === undefined) return false
      isHeld = false
      if (count > 1) this.#callCounts.set(task, count - 1)
      else this.#callCounts.delete(task)
      return count === 1
    }
  }

  /** Registers a listener for shutdown, when open calls must be answered; returns a function to unregister. */
  onEnd(end: () => void): () => void {
    this.#enders.add(end)
    return () => void this.#enders.delete(end)
  }

  /** Answers all open calls with the current task state. */
  end(): void {
    for (const end of [...this.#enders]) end()
  }

  /** The client knows the task id, so the task outlives its calls. */
  release(task: string): void {
    this.#callCounts.delete(task)
  }
}
