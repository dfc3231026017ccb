import type { Notification, Session, HostedCall } from '../../api/index.ts'
import { ANONYMOUS, actorKey, principalKey } from '../../api/principal.ts'
import { isTerminal, toLegacyTask } from '../../protocol/era/tasks.ts'
import { hideStateSecrets } from '../hide-secrets.ts'
import type { Graph, HostedTaskRequest, TaskRecord, TaskLocation } from '../graph-types.ts'
import type { ToolLocation } from './hosted-task.ts'
import { HostedTask } from './hosted-task.ts'
import { mayUseTask, sealTaskId } from './task-ids.ts'

/** Maximum hosted tasks, in total and per caller. */
const MAX_HOSTED = 1000
const MAX_HOSTED_EACH = 100
/** Maximum tasks in `tasks/list`, in total and per caller; the oldest are omitted. */
const MAX_KNOWN = 10_000
const MAX_KNOWN_EACH = 100
/** Task lifetime in milliseconds: default and maximum. */
const TTL_MS = 3_600_000
const MAX_TTL_MS = 86_400_000
const POLL_MS = 1000
/** Maximum tasks of one server with the same id, each on its own connection. */
const MAX_SAME_ID = 16

interface HostedEntry {
  readonly task: HostedTask
  readonly owner: string
  /** Immutable properties: owner, tool and server. */
  readonly about: Pick<HostedCall, 'tool' | 'upstream' | 'subject' | 'issuer' | 'client'>
}

/** Tasks that servers have under one id. */
interface TasksById {
  /** Includes removed tasks, as late notifications may still arrive. */
  readonly all: TaskRecord[]
  holders: number
  /** True if there were too many to match a notification to its task. */
  isDoubtful: boolean
}

/** Tasks of all callers. Outlives a generation; each task expires. */
export class TaskStore {
  readonly #hosted = new Map<string, HostedEntry>()
  readonly #records = new Map<string, Map<string, TaskRecord>>()
  /** Legacy servers' tasks by original id, for unrequested notifications. */
  readonly #byOriginal = new Map<string, TasksById>()
  readonly #workCounts = new Map<Session, { count: number; onEnd: (() => void) | undefined }>()
  readonly #notifications = new WeakMap<Session, Promise<void>>()
  #count = 0
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
      pollIntervalMs: request.pollIntervalMs ?? POLL_MS,
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
  recordTask(graph: Graph, session: Session, taskId: string, location: TaskLocation, ttlMs: number | null): void {
    const now = graph.clock.now()
    const record: TaskRecord = {
      taskId,
      location,
      session,
      until: now + Math.min(ttlMs ?? MAX_TTL_MS, MAX_TTL_MS),
    }
    const key = getTaskOwner(session)
    const own = this.#records.get(key) ?? new Map<string, TaskRecord>()
    this.#records.set(key, own)
    for (const existing of own.values()) if (existing.until < now) this.#removeTask(own, existing)
    const [oldest] = own.values()
    if (own.size >= MAX_KNOWN_EACH && oldest !== undefined) this.#removeTask(own, oldest)
    if (this.#count >= MAX_KNOWN) this.#evictOldest()
    own.set(taskId, record)
    this.#count++
    if (location.at === 'gateway') this.#notifyChanges(location.original, session)
    else this.#indexByOriginal(record, createOriginalKey(location.upstream, location.original))
  }

  #indexByOriginal(record: TaskRecord, key: string): void {
    const named = this.#byOriginal.get(key) ?? { all: [], holders: 0, isDoubtful: false }
    named.holders++
    // Two sessions of one server may use the same id; neither may receive the other's notifications.
    if (named.all.length < MAX_SAME_ID) named.all.push(record)
    else named.isDoubtful = true
    this.#byOriginal.set(key, named)
  }

  /** Lists this caller's recorded tasks, newest first. */
  listTasks(graph: Graph, session: Session): readonly TaskRecord[] {
    const now = graph.clock.now()
    return [...(this.#records.get(getTaskOwner(session))?.values() ?? [])].filter(({ until }) => until >= now).reverse()
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
    const original = params?.taskId
    const named = typeof original === 'string' ? this.#byOriginal.get(createOriginalKey(upstream, original)) : undefined
    if (named === undefined || named.isDoubtful) return false
    // Each connection is a separate server session, and ids may repeat.
    const [owner, another] = named.all.filter(({ session }) => isMeant(session))
    if (owner === undefined || another !== undefined || owner.location.at !== 'server') return false
    const state = { ...params, taskId: owner.taskId }
    const redacted = this.#graph === undefined ? state : hideStateSecrets(state, this.#graph)
    this.#notifyOwner(owner.location, owner.session, { method, params: redacted })
    return true
  }

  #notifyChanges(id: string, session: Session): void {
    const task = this.#hosted.get(id)?.task
    const unwatch = task?.watch(() => {
      this.#notifyOwner(task, session, {
        method: 'notifications/tasks/status',
        params: toLegacyTask(task.state),
      })
      if (isTerminal(task.state.status)) unwatch?.()
    })
  }

  /** Notifies a client of its task, in order, if it may still use the tool. */
  #notifyOwner(tool: ToolLocation, session: Session, notification: Notification): void {
    const delivered = (this.#notifications.get(session) ?? Promise.resolve()).then(async () => {
      if (this.#graph === undefined || (await mayUseTask(tool, session, this.#graph))) session.notify(notification)
    })
    this.#notifications.set(session, delivered)
  }

  /** Marks background work for this session, with or without its client; returns a function that ends it. */
  beginWork(session: Session): () => void {
    const busy = this.#workCounts.get(session) ?? { count: 0, onEnd: undefined }
    this.#workCounts.set(session, busy)
    busy.count++
    return () => {
      if (--busy.count > 0) return
      this.#workCounts.delete(session)
      busy.onEnd?.()
    }
  }

  /** Runs `end` when no work is left for this session. */
  runWhenIdle(session: Session, end: () => void): void {
    const busy = this.#workCounts.get(session)
    if (busy === undefined) end()
    else busy.onEnd = end
  }

  /**
   * Forgets the tasks that only an ended session could list. The tasks themselves run until they expire or are
   * cancelled.
   */
  sessionEnded(session: Session): void {
    if (!isAnonymous(session)) return
    const own = this.#records.get(getTaskOwner(session))
    if (own === undefined) return
    for (const record of own.values()) this.#removeTask(own, record)
    this.#records.delete(getTaskOwner(session))
  }

  /** Cancels the work of every task when the gateway stops. */
  cancelAll(): void {
    for (const { task } of this.#hosted.values()) task.cancel('the gateway is stopping')
    this.#hosted.clear()
  }

  #evictOldest(): void {
    const [first] = this.#records
    if (first === undefined) return
    const [key, own] = first
    const [oldest] = own.values()
    if (oldest !== undefined) this.#removeTask(own, oldest)
    if (own.size === 0) this.#records.delete(key)
  }

  #removeTask(own: Map<string, TaskRecord>, record: TaskRecord): void {
    if (!own.delete(record.taskId)) return
    this.#count--
    if (record.location.at !== 'server') return
    const key = createOriginalKey(record.location.upstream, record.location.original)
    const named = this.#byOriginal.get(key)
    if (named !== undefined && --named.holders === 0) this.#byOriginal.delete(key)
  }
}

/** Returns a task list's owner. Anonymous callers differ by session. */
function getTaskOwner(session: Session): string {
  return isAnonymous(session) ? `session ${session.id}` : `principal ${actorKey(session.principal)}`
}

function isAnonymous({ principal }: Session): boolean {
  return principalKey(principal) === principalKey(ANONYMOUS)
}

function createOriginalKey(upstream: string, original: string): string {
  return JSON.stringify([upstream, original])
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
