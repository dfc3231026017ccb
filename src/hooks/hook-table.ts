import type {
  ClientFacts,
  Answer,
  Approval,
  ApprovalRequest,
  Ask,
  AuditEvent,
  Authorizer,
  Call,
  CarriedCall,
  CarriedRequest,
  Chooser,
  Config,
  Credentials,
  Dispatch,
  Exchange,
  Figure,
  Load,
  HttpReply,
  HttpRequest,
  JsonObject,
  Listener,
  ListenerConfig,
  ListenerContext,
  Neighbours,
  Notification,
  Patience,
  Principal,
  Refusal,
  Route,
  Session,
  SharedStore,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
  UpstreamStatus,
} from '../api/index.ts'
import type { HealthFinding } from '../errors/health.ts'
import type { CatalogEntry } from '../api/catalog-entry.ts'
import type { CatalogView, ListingReader, UpstreamInstructions } from '../api/catalog-view.ts'
import type { ExplainedCall, ExplainStep, RecentCall } from '../api/explain.ts'
import type { Phase } from '../api/exchange.ts'

/** Nothing decided: the next tap is asked. `null` is not accepted as an answer. */
type Undecided = undefined | void
type MaybePromise<T> = T | Promise<T>

/** Context of a notification on its way: `client` means toward the client, `upstream` toward the server. */
export interface NotificationContext {
  readonly direction: 'client' | 'upstream'
  readonly upstream: string | undefined
  readonly exchange: Exchange | undefined
}

/** A process of a server that is about to be started. */
interface ServerStart {
  readonly upstream: string
  readonly spec: UpstreamConfig
}

/** The signature of a tap on each hook. */
export interface HookTaps {
  /** Listeners and upstreams that it adds may be written as in a file: they are validated and completed. */
  configure: (config: Config) => Config | Undecided
  createUpstream: (spec: UpstreamConfig, context: UpstreamContext) => Upstream | Undecided
  authorize: (spec: UpstreamConfig, context: UpstreamContext) => Authorizer | Undecided
  starting: (start: ServerStart) => string | Undecided
  createListener: (spec: ListenerConfig, context: ListenerContext) => Listener | Undecided
  /** Other processes that are this gateway, too. Asked when listeners are opened; must be the same object as long as they are. */
  neighbours: () => Neighbours | Undecided
  /** Memory that several processes of this gateway share. Asked while plugins are set up: its plugin is `early`. */
  sharedStore: () => SharedStore | Undecided
  dispatch: (next: Dispatch, upstream: Upstream) => Dispatch | Undecided
  ready: () => MaybePromise<void>
  listening: (listener: Listener) => void
  /** The end has begun: what is open has so many milliseconds to be answered. */
  stopping: (graceMs: number) => void
  close: () => MaybePromise<void>
  /** The path is that of an HTTP request. `close` ends the connection with the answer. */
  admit: (listener: string, path?: string) => Refusal | 'close' | Undecided
  authenticate: (credentials: Credentials) => MaybePromise<Principal | Refusal | Undecided>
  refused: (refusal: Refusal, credentials: Credentials) => void
  /** A text says what is wrong with what a client chooses by this parameter of its URL. */
  choice: (value: string, by: Chooser) => string | Undecided
  http: (request: HttpRequest) => MaybePromise<HttpReply | Undecided>
  session: (session: Session) => MaybePromise<void>
  sessionEnd: (session: Session, reason: string) => void
  /** The call or other request that a call carries in its arguments, which takes its place. */
  unwrap: (exchange: Exchange) => MaybePromise<CarriedCall | CarriedRequest | Undecided>
  request: (exchange: Exchange) => MaybePromise<Answer | Undecided>
  route: (exchange: Exchange) => Route | Undecided
  call: (call: Call) => void
  /** Time that the client of a call waits; a call that takes longer goes on after its answer. */
  patience: (known: Patience | undefined, call: Call) => Patience | Undecided
  response: (answer: Answer, exchange: Exchange) => MaybePromise<Answer | Undecided>
  settled: (exchange: Exchange) => void
  catalog: (entries: readonly CatalogEntry[], view: CatalogView) => readonly CatalogEntry[] | Undecided
  /** Names, texts and schemas as this reader is shown them. Who is called, and how, stays as the catalog has it. */
  listing: (shown: readonly CatalogEntry[], reader: ListingReader) => readonly CatalogEntry[] | Undecided
  /** Facts about a client by the name that it gives itself. */
  client: (known: ClientFacts, name: string) => ClientFacts | Undecided
  /** Number for each candidate that says how well it fits what was asked for: the higher, the better. */
  rank: (query: string, candidates: readonly CatalogEntry[]) => MaybePromise<readonly number[] | Undecided>
  instructions: (
    instructions: readonly UpstreamInstructions[],
    view: Pick<CatalogView, 'principal' | 'profile'>,
  ) => readonly UpstreamInstructions[] | Undecided
  /** `drop` stops it; another notification takes its place, and no later tap is asked. */
  notification: (
    notification: Notification,
    context: NotificationContext,
  ) => Notification | 'drop' | Undecided
  clientRequest: (ask: Ask, exchange: Exchange) => MaybePromise<Answer | Undecided>
  approval: (request: ApprovalRequest) => MaybePromise<Approval | Undecided>
  upstreamState: (upstream: string, state: UpstreamState, problem: string | undefined) => void
  recorded: (event: AuditEvent) => void
  /** Findings of a running gateway that its owner should know, made with `findingsOf`. */
  health: (findings: readonly HealthFinding[]) => readonly HealthFinding[] | Undecided
  figures: (figures: readonly Figure[]) => readonly Figure[] | Undecided
  load: (load: Load) => Load | Undecided
  status: (status: UpstreamStatus, upstream: Upstream) => UpstreamStatus | Undecided
  control: (params: JsonObject) => MaybePromise<JsonObject | Undecided>
  /** Nothing happens and nothing is counted: it is said what a call would meet. */
  explain: (steps: readonly ExplainStep[], about: ExplainedCall) => readonly ExplainStep[] | Undecided
  /** A caller as its owner writes it in a command, such as `key:ci`. */
  callerNamed: (name: string) => Principal | Undecided
  recentCalls: (calls: readonly RecentCall[]) => readonly RecentCall[] | Undecided
}

export type HookName = keyof HookTaps

/** Way in which a hook runs its taps and uses what they return. */
export type HookKind = 'sync' | 'syncBail' | 'syncWaterfall' | 'async' | 'asyncBail' | 'asyncWaterfall'

interface HookRow {
  readonly kind: HookKind
  /** Runs in reverse order, ties included, so that a plugin wraps what it opened. */
  readonly mirrored?: boolean
  /** Selector of taps: the `methods` or `listeners` a tap names, or the key it was tapped `for`. */
  readonly by?: 'method' | 'listener' | 'key'
  /** For how long a tap may keep everybody waiting: `short` is configured, `person` is for what may wait for one, or for a call. */
  readonly patience?: 'short' | 'person'
  /** One tap's failure is logged and the others still run. */
  readonly safe?: boolean
}

/** Every hook of the gateway, in the order of the pipeline. */
export const HOOKS: Readonly<Record<HookName, HookRow>> = {
  configure: { kind: 'syncWaterfall' },
  createUpstream: { kind: 'syncBail', by: 'key' },
  authorize: { kind: 'syncBail' },
  starting: { kind: 'syncBail' },
  createListener: { kind: 'syncBail', by: 'key' },
  neighbours: { kind: 'syncBail' },
  sharedStore: { kind: 'syncBail' },
  dispatch: { kind: 'syncWaterfall', mirrored: true, patience: 'person' },
  ready: { kind: 'async', patience: 'short' },
  listening: { kind: 'sync', safe: true },
  admit: { kind: 'syncBail' },
  stopping: { kind: 'sync', safe: true },
  authenticate: { kind: 'asyncBail', by: 'listener', patience: 'short' },
  refused: { kind: 'sync', safe: true },
  choice: { kind: 'syncBail', by: 'key' },
  http: { kind: 'asyncBail', by: 'key', patience: 'person' },
  session: { kind: 'async', patience: 'short' },
  unwrap: { kind: 'asyncBail', by: 'method', patience: 'short' },
  request: { kind: 'asyncBail', by: 'method', patience: 'short' },
  route: { kind: 'syncBail', by: 'method' },
  call: { kind: 'sync', by: 'method' },
  patience: { kind: 'syncWaterfall', by: 'method' },
  response: { kind: 'asyncWaterfall', by: 'method', mirrored: true, patience: 'short' },
  settled: { kind: 'sync', by: 'method', safe: true },
  catalog: { kind: 'syncWaterfall' },
  listing: { kind: 'syncWaterfall' },
  client: { kind: 'syncWaterfall' },
  rank: { kind: 'asyncBail', patience: 'short' },
  instructions: { kind: 'syncWaterfall' },
  notification: { kind: 'syncBail', by: 'method' },
  clientRequest: { kind: 'asyncBail', by: 'method', patience: 'person' },
  approval: { kind: 'asyncBail', patience: 'person' },
  sessionEnd: { kind: 'sync', mirrored: true, safe: true },
  upstreamState: { kind: 'sync', safe: true },
  recorded: { kind: 'sync', safe: true },
  status: { kind: 'syncWaterfall' },
  health: { kind: 'syncWaterfall' },
  figures: { kind: 'syncWaterfall' },
  control: { kind: 'asyncBail', by: 'key', patience: 'short' },
  explain: { kind: 'syncWaterfall' },
  callerNamed: { kind: 'syncBail' },
  recentCalls: { kind: 'syncWaterfall' },
  load: { kind: 'syncWaterfall' },
  close: { kind: 'async', mirrored: true, safe: true, patience: 'short' },
}

/** Stages of a hook, in the order in which they run. */
export const STAGES = ['trace', 'identify', 'limit', 'normal', 'policy', 'transform'] as const
/** When a tap runs among the others of its hook. */
export type Stage = (typeof STAGES)[number]

/** When a tap runs, and for what. */
export interface TapOptions {
  /** Default `normal`. */
  readonly stage?: Stage
  /** Plugins whose taps of the same hook must run after this one. */
  readonly before?: string | readonly string[]
  /** Methods the tap cares about; on all others it costs nothing. Hooks of the pipeline only. */
  readonly methods?: readonly string[]
  /**
   * The tap is a rule about resources: URIs that have no canonical form are refused, unless a server lists them. `request`,
   * `route` and `catalog` only.
   */
  readonly judgesUris?: boolean
  /**
   * The tap may ask the client (`exchange.ask`) before it passes a call on: then a modern client's calls are held while it
   * thinks, also where their server would never ask. `dispatch` only.
   */
  readonly asks?: boolean
  /**
   * The tap may make calls of its own (`exchange.callTool`) before it answers: it has as long as `dispatch` has, and not
   * `hooks.timeout`. `request` only.
   */
  readonly calls?: boolean
  /** Phase that the time counts as which the tap takes of a call: see `exchange.times`. `dispatch` and `request` only. */
  readonly phase?: Exclude<Phase, 'before' | 'upstream' | 'client' | 'after'>
  /** The tap reads `exchange.times`: only then is the way of calls timed. `settled` only. */
  readonly timed?: boolean
  /**
   * Class of a reader, as a text of at most 256 characters: readers of one class are shown one list. `listing` only, and there
   * each tap has one.
   */
  readonly readers?: (reader: ListingReader) => string
  /** Listeners the tap cares about; the others are as if it were not there. `authenticate` only. */
  readonly listeners?: readonly string[]
  /** The verb changes nothing and only looks, so that an audit has no line of it. `control` only. */
  readonly looks?: boolean
}
