import type { TaskService } from '../tasks/service.ts'
import type { Call, Clock, Exchange, Patience, Principal } from '../../../src/plugin.ts'
import { BoundedMap, isObject, principalKey } from '../../../src/plugin.ts'
import type { TaskCaller, CallerIdentity, TaskView } from '../types.ts'
import { MAX_WAIT_MS } from './schemas.ts'

/** Tools whose calls wait for work to end, and by themselves no longer than this. */
const WAITING: ReadonlySet<unknown> = new Set(['delegate_task', 'agent_reply'])

interface PendingCall {
  isOver: boolean
  end: (() => void) | undefined
}

/** Ends the waits of calls whose clients wait no longer. The core has the clock; the work itself goes on in the task service. */
export class CallPatience {
  readonly #waiting = new WeakMap<Exchange, PendingCall>()

  /** Patience of the client of a call: what is known of it, or what the call itself says. */
  resolvePatience(known: Patience | undefined, { params, exchange }: Call): Patience | undefined {
    const { name, arguments: given } = params ?? {}
    const own = WAITING.has(name) ? (parseWait(given) ?? MAX_WAIT_MS) : Infinity
    const ms = Math.min(known?.ms ?? Infinity, own)
    if (ms === Infinity) return undefined
    const finishWait = (): void => {
      const waiting = this.#getPendingCall(exchange)
      waiting.isOver = true
      waiting.end?.()
    }
    return { ms: Math.max(0, ms), over: finishWait }
  }

  /** Runs `end` when the client of a call waits no longer; returns the way to say that the call does not wait any more. */
  trackWait(exchange: Exchange, end: () => void): () => void {
    const waiting = this.#getPendingCall(exchange)
    waiting.end = end
    if (waiting.isOver) end()
    return () => void (waiting.end = undefined)
  }

  #getPendingCall(exchange: Exchange): PendingCall {
    const known = this.#waiting.get(exchange)
    if (known !== undefined) return known
    const made: PendingCall = { isOver: false, end: undefined }
    this.#waiting.set(exchange, made)
    return made
  }
}

/** Time in milliseconds for which a call says that it waits. */
export function parseWait(given: unknown): number | undefined {
  const wait = (given as { wait_ms?: unknown } | undefined)?.wait_ms
  return typeof wait === 'number' && Number.isFinite(wait) ? Math.min(wait, MAX_WAIT_MS) : undefined
}

/** Tasks whose caller is known, of all owners and of one; the agents of older ones call nobody back. */
const MAX_KNOWN = 40_000
const MAX_OF_OWNER = 10_000

interface AgentCaller {
  readonly identity: CallerIdentity
  /** The task whose agent began it. */
  readonly parent: string | undefined
}

/** Says which task the agent with this identity works for; undefined for everybody else. */
interface GrantResolver {
  resolveGrant(
    principal: Principal,
  ): { readonly task: string; readonly root: string; readonly depth: number } | undefined
}

/** Identifies callers, and finds the tasks they may touch: a client all of its principal, an agent only those it began. */
export class Callers {
  readonly #known = new BoundedMap<string, AgentCaller>({ max: MAX_KNOWN, share: MAX_OF_OWNER })
  /** Set once there are callback tokens, which need to know the callers. */
  callbackTokens: GrantResolver | undefined

  identifyCaller(exchange: Exchange): TaskCaller {
    const { principal, session } = exchange
    const grant = this.callbackTokens?.resolveGrant(principal)
    return {
      owner: principalKey(principal),
      issuer: principal.issuer,
      subject: principal.subject,
      parent: grant === undefined ? undefined : { task: grant.task, root: grant.root, depth: grant.depth },
      identity: { principal, profile: session.profile },
      trace: readTrace(exchange),
    }
  }

  /** Notes the caller that began a task, or took it up again. */
  noteCaller(task: string, { owner, identity, parent }: TaskCaller): void {
    if (identity === undefined) return
    const before = this.#known.get(task)
    const known = { identity, parent: before === undefined ? parent?.task : before.parent }
    this.#known.set(task, known, owner)
  }

  findIdentity(task: string): CallerIdentity | undefined {
    return this.#known.get(task)?.identity
  }

  /** A task, if this caller may know of it. */
  find(service: TaskService, task: unknown, caller: TaskCaller): TaskView | undefined {
    if (typeof task !== 'string' || !this.mayTouch(task, caller)) return undefined
    return service.view(task, caller.owner)
  }

  /** The newest tasks that this caller may know of. */
  list(service: TaskService, caller: TaskCaller, limit: number): readonly TaskView[] {
    const views = service.list(caller.owner, { after: undefined, limit })
    return caller.parent === undefined ? views : views.filter(({ id }) => this.mayTouch(id, caller))
  }

  /** An agent could answer what itself has asked, if it could reach its own task. */
  mayTouch(task: string, { parent }: TaskCaller): boolean {
    if (parent === undefined) return true
    for (let at = this.#known.get(task)?.parent; at !== undefined; at = this.#known.get(at)?.parent)
      if (at === parent.task) return true
    return false
  }
}

const TRACE = ['traceparent', 'tracestate', 'baggage'] as const

/** The trace that a call belongs to: in its metadata, else in the headers it came with. */
function readTrace({ params, headers }: Exchange): Readonly<Record<string, string>> | undefined {
  const meta = isObject(params?._meta) ? params._meta : {}
  const found = TRACE.flatMap(key => {
    const value = meta[key] ?? headers[key]
    return typeof value === 'string' ? [[key, value] as const] : []
  })
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

/** Dependencies of every tool, task and resource. */
export interface McpDeps {
  /** As it is now: a reload may replace it. */
  readonly service: () => TaskService
  readonly clock: Clock
  readonly foreground: Foreground
  readonly patience: CallPatience
  readonly callers: Callers
}

/** Tasks that only open calls know of: they end with the last such call. */
export class Foreground {
  readonly #held = new Map<string, number>()
  readonly #enders = new Set<() => void>()

  /** A call waits for it. Returns the way to say that it does no more: whether the task has nobody left. */
  hold(task: string): () => boolean {
    this.#held.set(task, (this.#held.get(task) ?? 0) + 1)
    let isHeld = true
    return () => {
      const count = this.#held.get(task)
      if (!isHeld || count === undefined) return false
      isHeld = false
      if (count > 1) this.#held.set(task, count - 1)
      else this.#held.delete(task)
      return count === 1
    }
  }

  /** Listens for the moment when open calls must be answered; returns the way to stop. */
  onEnd(end: () => void): () => void {
    this.#enders.add(end)
    return () => void this.#enders.delete(end)
  }

  /** Every open call is answered, as far as its task is. */
  end(): void {
    for (const end of [...this.#enders]) end()
  }

  /** Its owner knows its id: it goes on, whatever becomes of the calls. */
  release(task: string): void {
    this.#held.delete(task)
  }
}
