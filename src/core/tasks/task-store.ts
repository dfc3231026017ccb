import type { Notification, Session, HostedCall } from '../../api/index.ts'
import { ANONYMOUS, actorKey, principalKey } from '../../api/principal.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { Graph, HostedTaskRequest, ServerTaskLocation, TaskRecord } from '../graph-types.ts'
import { hideStateSecrets } from '../hide-secrets.ts'
import { HostedTask } from './hosted-task.ts'
import { mayUseTask, sealTaskId } from './task-ids.ts'

/** Maximum hosted tasks, in total and per caller. */
const MAX_HOSTED = 1000
const MAX_HOSTED_EACH = 100
/** Maximum tasks in `tasks/list`, in total and per caller; the oldest are omitted. */
const RECORD_LIMITS = { max: 10_000, share: 100 }
/** Task lifetime in milliseconds: default and maximum. */
const TTL_MS = 3_600_000
const MAX_TTL_MS = 86_400_000

interface HostedEntry {
  readonly task: HostedTask
  readonly owner: string
  /** Immutable properties: owner, tool and server. */
  readonly about: Pick<HostedCall, 'tool' | 'upstream' | 'subject' | 'issuer' | 'client'>
}

/** Tasks of all callers. Outlives a generation; each task expires. */
export class TaskStore {
  readonly #hosted = new Map<string, HostedEntry>()
  /** Tasks at legacy servers, by the id that the client has. */
  readonly #records = new BoundedMap<string, TaskRecord>(RECORD_LIMITS)
  readonly #notifications = new WeakMap<Session, Promise<void>>()
  #graph: Graph | undefined

  /** Sets the current graph, through which tasks continue. */
  attach(graph: Graph): void {
    this.#graph = graph
  }

  get graph(): Graph | undefined {
    return this.#graph
  }

  /** Creates a hosted task for this caller; undefined if the limit is reached. */
  createTask(graph: Graph, session: Session, request: HostedTaskRequest): HostedTask | undefined {
    const owner = actorKey(session.principal)
    const own = [...this.#hosted.values()].filter(hosted => hosted.owner === owner)
    if (this.#hosted.size >= MAX_HOSTED || own.length >= MAX_HOSTED_EACH) return undefined
    const ttlMs = Math.max(1, Math.min(request.ttlMs ?? TTL_MS, MAX_TTL_MS))
    const task = new HostedTask({
      upstream: request.upstream,
      toolThere: request.toolThere,
      ttlMs,
      now: Date.now,
      cancel: reason => request.cancel(reason),
    })
    const taskId = sealTaskId(graph, session, { at: 'gateway', original: task.id }, ttlMs)
    if (taskId === undefined) return undefined
    task.taskId = taskId
    this.#hosted.set(task.id, { task, owner, about: describeTask(session, request) })
    graph.clock.after(ttlMs, () => {
      this.#hosted.delete(task.id)
      task.cancel('the task has expired')
    })
    return task
  }

  /** Finds this caller's hosted task. */
  findHosted(id: string, session: Session): HostedTask | undefined {
    const hosted = this.#hosted.get(id)
    return hosted?.owner === actorKey(session.principal) ? hosted.task : undefined
  }

  /** Lists all callers' hosted tasks, newest first. */
  listAll(): HostedCall[] {
    return [...this.#hosted.values()].map(createTaskRow).reverse()
  }

  /** Cancels a hosted task for the operator; false if it has ended, undefined if it is unknown. */
  cancelTask(id: string, reason: string): boolean | undefined {
    return this.#hosted.get(id)?.task.cancel(reason)
  }

  /** Records a task of a legacy client: the client may list it and is notified of changes. */
  recordTask(graph: Graph, session: Session, taskId: string, location: ServerTaskLocation, ttlMs: number | null): void {
    const until = graph.clock.now() + Math.min(ttlMs ?? MAX_TTL_MS, MAX_TTL_MS)
    this.#records.set(taskId, { taskId, location, session, until }, getTaskOwner(session))
  }

  /** Lists this caller's recorded tasks, newest first. */
  listTasks(graph: Graph, session: Session): readonly TaskRecord[] {
    const now = graph.clock.now()
    const owner = getTaskOwner(session)
    return [...this.#records.values()]
      .filter(record => getTaskOwner(record.session) === owner && record.until >= now)
      .reverse()
  }

  /**
   * Forwards a legacy server's task status to its owner alone, if the owner uses the connection that it came by.
   * False without an owner.
   */
  handleTaskStatus(
    upstream: string,
    { method, params }: Notification,
    isMeant: (session: Session) => boolean = () => true,
  ): boolean {
    // Each connection is a separate server session, and ids may repeat.
    const [owner, another] = [...this.#records.values()].filter(
      ({ location, session }) =>
        location.upstream === upstream && location.original === params?.taskId && isMeant(session),
    )
    if (owner === undefined || another !== undefined) return false
    const state = { ...params, taskId: owner.taskId }
    const redacted = this.#graph === undefined ? state : hideStateSecrets(state, this.#graph)
    this.#notifyOwner(owner, { method, params: redacted })
    return true
  }

  /** Notifies a client of its task, in order, if it may still use the tool. */
  #notifyOwner({ location, session }: TaskRecord, notification: Notification): void {
    const delivered = (this.#notifications.get(session) ?? Promise.resolve()).then(async () => {
      if (this.#graph === undefined || (await mayUseTask(location, session, this.#graph))) session.notify(notification)
    })
    this.#notifications.set(session, delivered)
  }

  /** Forgets the tasks that only an ended session could list. They run until they expire or are cancelled. */
  handleSessionEnd(session: Session): void {
    if (!isAnonymous(session)) return
    for (const record of [...this.#records.values()])
      if (record.session.id === session.id) this.#records.delete(record.taskId)
  }

  /** Cancels the work of every task when the gateway stops. */
  cancelAll(): void {
    for (const { task } of this.#hosted.values()) task.cancel('the gateway is stopping')
    this.#hosted.clear()
  }
}

/** Returns a task list's owner. Anonymous callers differ by session. */
function getTaskOwner(session: Session): string {
  return isAnonymous(session) ? `session ${session.id}` : `principal ${actorKey(session.principal)}`
}

function isAnonymous({ principal }: Session): boolean {
  return principalKey(principal) === principalKey(ANONYMOUS)
}

/** Clients choose their names: truncate them. */
const MAX_LENGTH = 256

function describeTask({ principal, client }: Session, { tool, upstream }: HostedTaskRequest): HostedEntry['about'] {
  const { subject, issuer } = principal
  return {
    tool: tool.slice(0, MAX_LENGTH),
    upstream,
    subject,
    issuer,
    client: client.info.name.slice(0, MAX_LENGTH),
  }
}

function createTaskRow({ task, about }: HostedEntry): HostedCall {
  const { status, statusMessage, createdAt, lastUpdatedAt, ttlMs } = task.state
  const { outcome } = task
  const [begun, changed] = [Date.parse(createdAt), Date.parse(lastUpdatedAt)]
  return {
    id: task.id,
    ...about,
    state: status,
    ...(statusMessage === undefined ? {} : { message: statusMessage.slice(0, MAX_LENGTH) }),
    asks: task.openRequests,
    createdAt: begun,
    updatedAt: changed,
    expiresAt: begun + (ttlMs ?? MAX_TTL_MS),
    ...(outcome !== undefined && 'result' in outcome ? { resultBytes: outcome.result.bytes().length } : {}),
  }
}
