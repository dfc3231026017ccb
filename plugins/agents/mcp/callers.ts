import type { Clock, Exchange } from '../../../src/plugin.ts'
import { isObject, principalKey } from '../../../src/plugin.ts'
import type { TaskService, TaskView } from '../tasks/service.ts'
import type { TaskCaller } from '../types.ts'
import type { CallbackTokens } from '../callback.ts'

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
  /** How long each call's client waits, in milliseconds, if that is known. */
  readonly patience: WeakMap<Exchange, number>
  /** Aborted shortly before the gateway stops, when open calls must be answered. */
  readonly stopping: AbortSignal
  readonly tokens: CallbackTokens
}
