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
import type { PipelineExchange } from './exchange.ts'
import type { StartupGrace } from './upstream.ts'
import type { Seal } from './seal.ts'
import type { HostedTask, ToolLocation } from './tasks/hosted-task.ts'

/** An upstream in its place: with the dispatch that the plugins of this generation wrapped. */
export interface UpstreamNode {
  readonly upstream: Upstream
  readonly prefix: string
  readonly dispatch: Dispatch
}

/** Name and version by which the gateway introduces itself. */
export interface Identity {
  readonly name: string
  readonly version: string
  readonly [key: string]: unknown
}

/** Notifications that one `subscriptions/listen` asks for. */
export interface ListenFilter {
  readonly methods: ReadonlySet<string>
  readonly uris: ReadonlySet<string>
  readonly taskIds: readonly string[]
}

/** A route, with the catalog entry that it was found by. */
export type FoundRoute = Route & { readonly entry?: CatalogEntry | undefined }

/** Route of an exchange, or the error that says why there is none. */
export type RouteResult = FoundRoute | { readonly error: RpcError }

/** Owner of a resource, and the URIs by which the owner and clients know it. */
export interface ResourceOwner {
  readonly upstream: string
  readonly original: string
  /** URI by which clients know it. */
  readonly exposed: string
}

/** Place where a task is kept: at a server, under the server's own id, or at the gateway. */
export type TaskLocation =
  | (ToolLocation & {
      readonly at: 'server'
      readonly era: Era
      readonly original: string
      /** Name by which its client knows the tool. */
      readonly tool: string
    })
  | { readonly at: 'gateway'; readonly original: string }

export interface TaskRecord {
  readonly taskId: string
  readonly place: TaskLocation
  readonly session: Session
  readonly until: number
}

/** Request for a task that the gateway keeps: what is called, its lifetime, its poll interval, and how to cancel the work. */
export interface HostedTaskRequest extends ToolLocation {
  /** Name of the tool as its client says it. */
  readonly tool: string
  readonly ttlMs: number | null | undefined
  readonly pollIntervalMs?: number | undefined
  cancel(reason: string): void
}

/** A changed list of an upstream. */
export interface ListChange {
  /** False if nobody was given the list by this process. */
  readonly wasGiven: boolean
  /** Tells if a viewer may see any of its entries, former ones included. */
  isSeenBy(viewer: ProfileViewer): boolean
}

/** The lists of all upstreams, as each caller sees them. */
interface CatalogReader {
  /** Returns this caller's view as it was last made; undefined where it has to be listed first. */
  getCachedView(kind: Kind, session: Session): View | undefined
  list(exchange: Exchange, upstreams?: readonly string[]): Promise<Answer>
  readonly listings: Listings
  /** Returns a key shared by readers of the same lists over the same connections. */
  getReaderKey(session: Session): string
  /** Lists an upstream again; undefined if the list is the one that readers were given. */
  findChange(kind: Kind, upstream: string): Promise<ListChange | undefined>
  load(kind: Kind, session: Session, only?: readonly string[]): Promise<View>
  find(kind: Kind, session: Session, exposed: string): Promise<CatalogEntry | undefined>
  findLastKnown(kind: Kind, session: Session, exposed: string): CatalogEntry | undefined
  /** Returns the tool's parameters sent as headers; undefined if its annotations are invalid. */
  getHeaderParams(entry: CatalogEntry): readonly ParamHeader[] | undefined
  getList(name: string, kind: Kind, session: Session): Promise<UpstreamList | undefined>
  applyCatalogTaps(entry: CatalogEntry, viewer: ProfileViewer): CatalogEntry | undefined
  findUnsupportedError(exchange: Exchange): RpcError | undefined
  hasVisibleEntries(kind: Kind, viewer: ProfileViewer, upstream: string): boolean
  isMissing(node: UpstreamNode, kind: Kind): boolean
  isDoubtful(kind: Kind): boolean
  /** A first list of an upstream that is late for this caller, and still worth waiting for. */
  getLateList(node: UpstreamNode): LateList | undefined
  getListProblems(upstream: string): Readonly<Partial<Record<Kind, string>>> | undefined
}

/** Finds the upstream of a request. */
interface RouteFinder {
  findRoute(exchange: Exchange): RouteResult | Promise<RouteResult>
  /** Puts the real name in the place of one that the client was shown. */
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
  expire(why: string): void
}

interface ParkedCalls {
  find(id: string): ParkedCall | undefined
  /** False when too many wait already. */
  add(call: ParkedCall): boolean
  remove(call: ParkedCall): void
}

/** Tasks of clients: those that the gateway hosts, and those that servers keep. */
interface TaskRegistry {
  /** Graph that runs at this moment; a task outlives the configuration it began with. */
  readonly graph: Graph | undefined
  createTask(graph: Graph, session: Session, request: HostedTaskRequest): HostedTask | undefined
  findHosted(id: string, session: Session): HostedTask | undefined
  listAll(): readonly HostedCall[]
  cancelTask(id: string, reason: string): boolean | undefined
  recordTask(graph: Graph, session: Session, taskId: string, place: TaskLocation, ttlMs: number | null): void
  listTasks(graph: Graph, session: Session): readonly TaskRecord[]
  handleTaskStatus(
    upstream: string,
    notification: Notification,
    isMeant?: (session: Session) => boolean,
  ): boolean
  beginWork(session: Session): () => void
  runWhenIdle(session: Session, end: () => void): void
  sessionEnded(session: Session): void
}

/** One generation of the configuration at work, with its hooks, upstreams and catalog. */
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
  readonly grace: StartupGrace
  readonly unlisted: UnlistedMethods
  /** Tells whether any plugin has rules about resources. */
  readonly judgesUris: boolean
  /** Tells whether any plugin may ask clients in the middle of a call, whatever server it is for. */
  readonly holdsCalls: boolean
  /** Exchanges that are not answered yet. */
  readonly running: number
  /** Counts one more of them. */
  entered(): void
  /** Counts one less. */
  left(): void
  nextId(): number
  exchange(session: Session, inbound: IncomingRequest): PipelineExchange
  /** Name and version of the gateway; a single unprefixed upstream shows its own. */
  identity(): Identity
}
