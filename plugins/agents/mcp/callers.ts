import { type Exchange, type Principal, isObject, principalKey } from '../../../src/plugin.ts'
import type { Caller, TaskService, TaskView, CallerIdentity } from '../types/tasks.ts'

/** Tasks of which it is known who began them; of older ones nobody calls back. */
const MAX_KNOWN = 10_000

interface Known {
  readonly identity: CallerIdentity
  /** The task whose agent began it. */
  readonly parent: string | undefined
}

/** Says which task the agent with this identity works for; undefined for everybody else. */
interface Grants {
  grantOf(
    principal: Principal,
  ): { readonly task: string; readonly root: string; readonly depth: number } | undefined
}

/** Identifies callers, and finds the tasks they may touch: a client all of its principal, an agent only those it began. */
export class Callers {
  readonly #known = new Map<string, Known>()
  /** Set once there are callback tokens, which need to know the callers. */
  callbackTokens: Grants | undefined

  callerOf(exchange: Exchange): Caller {
    const { principal, session } = exchange
    const grant = this.callbackTokens?.grantOf(principal)
    return {
      owner: principalKey(principal),
      issuer: principal.issuer,
      subject: principal.subject,
      parent: grant === undefined ? undefined : { task: grant.task, root: grant.root, depth: grant.depth },
      identity: { principal, profile: session.profile },
      trace: traceOf(exchange),
    }
  }

  /** Notes who began a task, or took it up again. */
  note(task: string, { identity, parent }: Caller): void {
    if (identity === undefined) return
    const before = this.#known.get(task)
    this.#known.delete(task)
    this.#known.set(task, { identity, parent: before === undefined ? parent?.task : before.parent })
    const oldest = this.#known.keys().next().value
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest)
  }

  identityOf(task: string): CallerIdentity | undefined {
    return this.#known.get(task)?.identity
  }

  /** A task, if this caller may know of it. */
  find(service: TaskService, task: unknown, caller: Caller): TaskView | undefined {
    if (typeof task !== 'string' || !this.mayTouch(task, caller)) return undefined
    return service.view(task, caller.owner)
  }

  /** The newest tasks that this caller may know of. */
  list(service: TaskService, caller: Caller, limit: number): readonly TaskView[] {
    const views = service.list(caller.owner, { after: undefined, limit })
    return caller.parent === undefined ? views : views.filter(({ id }) => this.mayTouch(id, caller))
  }

  /** An agent could answer what itself has asked, if it could reach its own task. */
  mayTouch(task: string, { parent }: Caller): boolean {
    if (parent === undefined) return true
    for (let at = this.#known.get(task)?.parent; at !== undefined; at = this.#known.get(at)?.parent)
      if (at === parent.task) return true
    return false
  }
}

const TRACE = ['traceparent', 'tracestate', 'baggage'] as const

/** The trace that a call belongs to: in its metadata, else in the headers it came with. */
function traceOf({ params, headers }: Exchange): Readonly<Record<string, string>> | undefined {
  const meta = isObject(params?._meta) ? params._meta : {}
  const found = TRACE.flatMap(key => {
    const value = meta[key] ?? headers[key]
    return typeof value === 'string' ? [[key, value] as const] : []
  })
  return found.length === 0 ? undefined : Object.fromEntries(found)
}
