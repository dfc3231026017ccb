import type { Listings, View } from './catalog/view.ts'
import type { LateList, UpstreamList, UnlistedMethods } from './catalog/upstream-list.ts'
import type { CatalogEntry } from '../api/catalog-entry.ts'
import type { ProfileViewer } from '../api/profile-lookup.ts'
import type {
  Answer,
  Call,
  Clock,
  Config,
  Dispatch,
  Exchange,
  IncomingRequest,
  Log,
  Notification,
  Route,
  Session,
  Upstream,
  HostedCall,
} from '../api/index.ts'
import type { Hooks } from '../hooks/hooks.ts'
import type { ParamHeader } from '../protocol/headers.ts'
import type { Era, Kind } from '../protocol/methods.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import type { HideSecrets } from '../util/secrets.ts'
import type { CallRecorder } from './call-recorder.ts'
import type { PipelineExchange } from './exchange.ts'
import type { StartupGrace } from './reused-upstream.ts'
import type { Seal } from './seal.ts'
import type { HostedTask, ToolLocation } from './tasks/hosted-task.ts'

/** An upstream in one generation, with the dispatch that its plugins wrapped. */
export interface UpstreamNode {
  readonly upstream: Upstream
  readonly prefix: string
  readonly dispatch: Dispatch
}

/** Name and version that the gateway reports to clients and servers. */
export interface Identity {
  readonly name: string
  readonly version: string
  readonly [key: string]: unknown
}

/** Notifications that one `subscriptions/listen` requests. */
export interface ListenFilter {
  readonly methods: ReadonlySet<string>
  readonly uris: ReadonlySet<string>
  readonly taskIds: readonly string[]
}

/** A route with its catalog entry, if it was found by one. */
export type FoundRoute = Route & { readonly entry?: CatalogEntry | undefined }

export type RouteResult = FoundRoute | { readonly error: RpcError }

/** Owner of a resource, with the URIs that the owner and clients use. */
export interface ResourceOwner {
  readonly upstream: string
  readonly original: string
  /** URI as exposed to clients. */
  readonly exposed: string
}

/** Task at a server, under the server's own id. */
export interface ServerTaskLocation extends ToolLocation {
  readonly at: 'server'
  readonly era: Era
  readonly original: string
  /** Tool name as exposed to the client. */
  readonly tool: string
}

/** Location of a task: at a server or at the gateway. */
export type TaskLocation = ServerTaskLocation | { readonly at: 'gateway'; readonly original: string }

export interface TaskRecord {
  readonly taskId: string
  readonly location: ServerTaskLocation
  readonly session: Session
  readonly until: number
}

/** Request for a hosted task: the tool, its lifetime, and a function that cancels the work. */
export interface HostedTaskRequest extends ToolLocation {
  /** Tool name as exposed to the client. */
  readonly tool: string
  readonly ttlMs: number | null | undefined
  cancel(reason: string): void
}

/** A changed list of an upstream. */
export interface ListChange {
  /** False if this process never returned the list to a reader. */
  readonly wasGiven: boolean
  /** True if a viewer may see any of its entries, former ones included. */
  isSeenBy(viewer: ProfileViewer): boolean
}

/** The lists of all upstreams, as each caller sees them. */
interface CatalogReader {
  /** Returns this caller's last view; undefined if it must be loaded first. */
  getCachedView(kind: Kind, session: Session): View | undefined
  list(exchange: Exchange, upstreams?: readonly string[]): Promise<Answer>
  readonly listings: Listings
  /** Lists an upstream again; undefined if the list has not changed since readers received it. */
  findChange(kind: Kind, upstream: string): Promise<ListChange | undefined>
  load(kind: Kind, session: Session, only?: readonly string[]): Promise<View>
  find(kind: Kind, session: Session, exposed: string): Promise<CatalogEntry | undefined>
  findLastKnown(kind: Kind, session: Session, exposed: string): CatalogEntry | undefined
  /** Returns the tool's parameters sent as headers; undefined if its annotations are invalid. */
  getHeaderParams(entry: CatalogEntry): readonly ParamHeader[] | undefined
  getList(name: string, kind: Kind, session: Session): Promise<UpstreamList | undefined>
  applyCatalogTaps(entry: CatalogEntry, viewer: ProfileViewer): CatalogEntry | undefined
  /** Returns all entries listed so far, and each as this viewer sees it; undefined if hidden. */
  collectKnownEntries(
    kind: Kind,
    viewer: ProfileViewer,
  ): readonly { readonly entry: CatalogEntry; readonly visible: CatalogEntry | undefined }[]
  findUnsupportedError(exchange: Exchange): RpcError | undefined
  hasVisibleEntries(kind: Kind, viewer: ProfileViewer, upstream: string): boolean
  isMissing(node: UpstreamNode, kind: Kind): boolean
  isDoubtful(kind: Kind): boolean
  /** Returns a starting upstream's pending first list for this caller, if its grace period has time left. */
  getLateList(node: UpstreamNode): LateList | undefined
  getListProblems(upstream: string): Readonly<Partial<Record<Kind, string>>> | undefined
}

interface RouteFinder {
  findRoute(exchange: Exchange): RouteResult | Promise<RouteResult>
  /** Replaces a shown name by the real one. */
  resolveShownName(exchange: Exchange): Promise<void> | undefined
  findOwner(uri: string, exchange: Exchange): Promise<CatalogEntry | undefined>
  checkRoute(exchange: Exchange, route: Route): RouteResult
  mirrorParams(call: Call, entry: CatalogEntry | undefined): RpcError | undefined
}

/** Notifies clients of changes, and manages subscriptions. */
interface ClientNotifier {
  listen(exchange: Exchange, filter: ListenFilter): Promise<void> | undefined
  attach(sessions: ReadonlySet<Session>): void
  forgetSession(session: Session): void
  /** All sessions that can receive notifications. */
  listAudience(): Generator<Session>
  notifyAudience(method: string, isMeant: (session: Session) => boolean): void
  addHolder(uri: string, owner: ResourceOwner, by: object): 'new' | 'known' | 'full'
  removeHolder(uri: string, by: object): ResourceOwner | undefined
  announceListChange(method: string, upstream: string): void
  notifyUpstream(upstream: string, notification: Notification, isMeant?: (session: Session) => boolean): void
}

/** A call whose server waits for its client, between two requests of that client. */
interface ParkedCall {
  readonly id: string
  readonly owner: string
  resume(exchange: PipelineExchange, round: number, responses: unknown): Promise<Answer>
  expire(reason: string): void
}

interface ParkedCalls {
  find(id: string): ParkedCall | undefined
  /** False if the limit is reached. */
  add(call: ParkedCall): boolean
  remove(call: ParkedCall): void
}

/** Clients' tasks: hosted ones, and those stored by servers. */
interface TaskRegistry {
  /** The current graph; a task outlives the configuration that it began with. */
  readonly graph: Graph | undefined
  createTask(graph: Graph, session: Session, request: HostedTaskRequest): HostedTask | undefined
  findHosted(id: string, session: Session): HostedTask | undefined
  listAll(): readonly HostedCall[]
  cancelTask(id: string, reason: string): boolean | undefined
  recordTask(graph: Graph, session: Session, taskId: string, location: ServerTaskLocation, ttlMs: number | null): void
  listTasks(graph: Graph, session: Session): readonly TaskRecord[]
  handleTaskStatus(upstream: string, notification: Notification, isMeant?: (session: Session) => boolean): boolean
  handleSessionEnd(session: Session): void
}

/** One running generation of the configuration, with its hooks, upstreams and catalog. */
export interface Graph {
  readonly config: Config
  readonly hooks: Hooks
  readonly upstreams: ReadonlyMap<string, UpstreamNode>
  readonly catalog: CatalogReader
  readonly router: RouteFinder
  readonly notifier: ClientNotifier
  readonly seal: Seal
  readonly parking: ParkedCalls
  readonly tasks: TaskRegistry
  readonly log: Log
  readonly clock: Clock
  readonly hide: HideSecrets
  readonly recorder: CallRecorder
  readonly grace: StartupGrace
  readonly unlisted: UnlistedMethods
  /** True if any plugin has rules about resources. */
  readonly judgesUris: boolean
  /** True if any plugin may hide or change entries by rules. */
  readonly judgesEntries: boolean
  /** True if any plugin may send client requests during a call, for any server. */
  readonly holdsCalls: boolean
  /** Unanswered exchanges. */
  readonly running: number
  beginCall(): void
  endCall(): void
  nextId(): number
  exchange(session: Session, inbound: IncomingRequest): PipelineExchange
  /** Gateway name and version; a single unprefixed upstream shows its own. */
  identity(): Identity
}
