import type {
  Answer,
  Approval,
  ApprovalRequest,
  Ask,
  AuditEvent,
  Authorizer,
  Call,
  WrappedCall,
  WrappedRequest,
  Config,
  Credentials,
  Dispatch,
  EndedSession,
  Exchange,
  Metric,
  HttpReply,
  HttpRequest,
  JsonObject,
  Listener,
  ListenerConfig,
  ListenerContext,
  Notification,
  Principal,
  Refusal,
  Route,
  Services,
  Session,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
  UpstreamStatus,
} from '../api/index.ts'
import type { HealthFinding } from '../errors/health.ts'
import type { CatalogEntry } from '../api/catalog-entry.ts'
import type { CatalogView, ListingReader, UpstreamInstructions } from '../api/catalog-view.ts'
import type { ExplainedCall, ExplainStep } from '../api/explain-step.ts'

/** No decision: the next tap runs. `null` is not a valid return value. */
type Undecided = undefined | void
type MaybePromise<T> = T | Promise<T>

/** Context of a notification; `direction` is its receiver. */
export interface NotificationContext {
  readonly direction: 'client' | 'upstream'
  readonly upstream: string | undefined
  readonly exchange: Exchange | undefined
}

/** The tap signature of each hook. Source of docs/reference/hooks.md; `@example` names a region in a file. */
export interface HookTaps {
  // Building the gateway
  // These run when the gateway is built from a configuration: at the start and at each reload.

  /**
   * Runs: Before anything is created from the configuration.
   *
   * May change: The configuration: return a new one, never modify it in place. Servers and listeners that a tap adds
   * are validated and get defaults like those in the file.
   *
   * If it throws: The start or reload stops with an error that names the plugin.
   *
   * @example examples/hooks/building.ts#configure
   */
  configure: (config: Config) => Config | Undecided
  /**
   * Runs: Once for each server in the configuration. Taps are selected by the server's `type`.
   *
   * May change: The upstream object. The first tap that returns one decides; if all return `undefined`, the gateway
   * creates a built-in upstream.
   *
   * If it throws: The start or reload stops.
   *
   * @example examples/hooks/building.ts#createUpstream
   *
   * The returned object has a state, the capabilities and information that the server declared, and three functions:
   *
   * @example examples/hooks/building.ts#upstream
   *
   * An upstream that reaches its server over HTTP without MCP opens `context.http({ url })`. This is the gateway's
   * own HTTP client, with proxies from the environment, `tls`, HTTP/2, the headers of each call and the credentials
   * from `authorize` taps. `request` resolves with the full reply for any HTTP status. Upstreams with `type:
   * openapi` work this way.
   */
  createUpstream: (spec: UpstreamConfig, context: UpstreamContext) => Upstream | Undecided
  /**
   * Runs: Once for each listener in the configuration. Taps are selected by the listener's `type`.
   *
   * May change: The listener object. If all taps return `undefined`, the gateway creates a built-in listener.
   *
   * If it throws: The start or reload stops.
   *
   * @example examples/hooks/building.ts#createListener
   */
  createListener: (spec: ListenerConfig, context: ListenerContext) => Listener | Undecided
  /**
   * Runs: Once when all plugins are set up, at the start and at each reload. For plugins with `early: true` also
   * before the others are set up, as they use `store`.
   *
   * May change: The objects that plugins provide: return a copy with additional ones.
   *
   * - `peers` lists the peer processes that serve the same gateway. `sealing` has the keys with which all processes open
   *   cursors and ids, and this process's `replicaId` (`r` and 16 hex digits), which is in values that only this
   *   process can use. `createSessionId` creates session ids. `registerListener` is called for each HTTP listener
   *   with a function that answers requests forwarded from peers. `findPeer` resolves a replica id: `here`, the address
   *   of a peer, or a refusal. Return the same object as long as it is valid; listeners reopen for a different one.
   * - `store` is the store that they share. Other plugins get it as [`shared`](../plugins.md#shared-state). A custom store
   *   must fulfil the same contract as the built-in one; verify it with `test/unit/store/shared-store.test.ts` from the
   *   repository.
   * - `admission` decides about each request at a listener, before it is read, so it must be fast. Its `getLoad` adds to
   *   the load in `gateway ps`.
   * - `findCaller` finds the caller that the owner names in a command, as in `gateway explain --as key:ci`.
   * - `getClientLimits` returns a client's limits by the name that it reports; `shape` uses it for `patience: client`
   *   and `maxTokens: client`. The `fit` plugin provides it from its client table.
   *
   * If it throws: The start or reload stops.
   *
   * @example examples/hooks/arriving.ts#services
   *
   * A plugin that provides `peers`:
   *
   * @example examples/hooks/building.ts#peers
   */
  services: (services: Services) => Services | Undecided
  /**
   * Runs: Once for each server, before its upstream is created. The returned authorizer runs for each HTTP request
   * to the server: POST, GET, DELETE and the WebSocket handshake.
   *
   * May change: The credentials of these requests. `headers` returns them, directly or as a promise. `refused`
   * receives a 401 or 403 with its challenge and may return other credentials; the request is then sent again, at
   * most three times. `query` adds URL parameters. With `getAccount`, callers with different accounts share no
   * connection, session or notification; set `isolation: principal` as well so that they share no cache entry.
   *
   * If it throws: At creation, the start stops. In `headers` or `refused`, the request fails. An error from the
   * plugin's own error table is returned to the caller.
   *
   * @example examples/hooks/building.ts#authorize
   */
  authorize: (spec: UpstreamConfig, context: UpstreamContext) => Authorizer | Undecided
  /**
   * Runs: Once for each server. The returned function runs for each call to it.
   *
   * May change: How calls are made: return a function that wraps `next`. Plugins that were set up first are
   * outermost. With `asks: true`, the tap may send a client request before `next` (`call.exchange.ask`), whatever
   * protocol version the client and the server use; if it returns an error instead of the server's result,
   * `refusedBy` names the tap.
   *
   * No work is done for a call during a client request, and a person may need minutes to answer. A tap that holds a
   * scarce resource for a call, such as a permit, releases it meanwhile: `call.exchange.watchAsks` reports when a
   * client request starts and ends. If a call continues as a task, its exchange has the request that returned the
   * task as its `origin`.
   *
   * If it throws: At creation, the start stops. In a call, the request fails.
   *
   * @example examples/hooks/building.ts#dispatch
   */
  dispatch: (next: Dispatch, upstream: Upstream) => Dispatch | Undecided

  // Connections and sessions
  // These run at a listener, before a request enters the pipeline. All but `session` are HTTP only.

  /**
   * Runs: For each HTTP request, before its body is read. Open streams are authenticated again at each reload and
   * twice a minute. `listeners` limits the tap to some listeners.
   *
   * May change: The caller. The first `Principal` or `Refusal` decides; if no tap returns one, the caller is
   * `anonymous`.
   *
   * If it throws: The request is answered with 500.
   *
   * @example examples/hooks/arriving.ts#authenticate
   */
  authenticate: (credentials: Credentials) => MaybePromise<Principal | Refusal | Undecided>
  /**
   * Runs: For a request to the tap's path, on every HTTP listener. The caller is in `request.caller`. `/jobs/*`
   * matches any last path segment for which no exact path is registered.
   *
   * May change: The reply. `undefined` leaves the request to the next tap for this path. With `replicaId`, the
   * request is forwarded to that [replica](../deploy.md#replicas); each replica gets its own id from
   * `api.getReplicaId()`. The rest of the reply is used if the replica is gone.
   *
   * If it throws: The request is answered with 500.
   *
   * @example examples/hooks/arriving.ts#http
   */
  http: (request: HttpRequest) => MaybePromise<HttpReply | Undecided>
  /**
   * Runs: When a client opens a session. A modern HTTP request is a session of its own.
   *
   * May change: Whether the session is accepted: throw to refuse it. `session.choices` has the parameters of the URL with
   * which the client opened it; `listing` taps get them as `reader.choices`. Anyone with the URL can set them, so they
   * must not grant access. `session.onEnd` registers a function that runs when the session has ended, for any reason; state in
   * `slot.session` is still available then.
   *
   * If it throws: The session is refused, and the client receives the error.
   *
   * @example examples/hooks/arriving.ts#session
   *
   * @example examples/hooks/arriving.ts#onEnd
   */
  session: (session: Session) => MaybePromise<void>

  // Request pipeline
  // These run for each request, in this order. `methods` limits a tap to some methods, at no cost for the others.

  /**
   * Runs: First in the pipeline, before the request is routed.
   *
   * May change: `exchange.params`, by assigning a new object, and the answer: the first returned answer completes
   * the request without an upstream call. With `calls: true`, the timeout is ten minutes instead of `hooks.timeout`,
   * for calls with `exchange.callTool`.
   *
   * If it throws: The request fails.
   *
   * @example examples/hooks/passing.ts#request
   *
   * For a `tools/call`, a tap with stage `unwrap`, which runs first, may also return a call that is wrapped in the
   * received one. It replaces the received call, and all `request` taps run for it. Its name may be one from the list
   * that the client was shown. Rules, limits, the cache, the audit and the answer use the new call only. Argument
   * objects that are reused from the received call are forwarded byte for byte.
   *
   * @example examples/hooks/carrying.ts#unwrap
   *
   * A call may also wrap a request with another method. The tap then returns `method`, `params` and `convertAnswer`,
   * which converts the answer to a tool result after all taps have processed it. A wrapped call may wrap one
   * request; deeper nesting is refused.
   *
   * @example examples/hooks/carrying.ts#carriedRequest
   *
   * The headers of such a request describe the received call, so they are not compared with the arguments of the
   * wrapped one. `exchange.listShownEntries('tools')` returns the list that the client is shown.
   *
   * A request may also make calls of its own. Calls with `exchange.callTool` pass the same pipeline as the caller's
   * own calls, so rules, limits and the audit apply to each. Such a call cannot send client requests, is cancelled
   * with its request, and cannot make further calls.
   *
   * @example examples/hooks/carrying.ts#callTool
   */
  request: (exchange: Exchange) => MaybePromise<Answer | WrappedCall | WrappedRequest | Undecided>
  /**
   * Runs: After `request`, when the request is routed.
   *
   * May change: The route: one server with the parameters as that server expects them, or several servers.
   * `undefined` leaves the decision to the catalog.
   *
   * If it throws: The request fails.
   *
   * @example examples/hooks/passing.ts#route
   */
  route: (exchange: Exchange) => Route | Undecided
  /**
   * Runs: Just before each call to a server. It is synchronous.
   *
   * May change: `call.params`, by assigning a new object, and `call.headers`, which are sent to HTTP servers. List
   * requests that the gateway makes itself also pass here.
   *
   * If it throws: The request fails; a list is returned without that server's entries.
   *
   * @example examples/hooks/passing.ts#call
   *
   * With `setsPatience: true`, a tap may set `call.patience`: how long the client waits for the answer. A call
   * that takes longer continues in the background: as a task if the client supports tasks, otherwise the client
   * receives the answer from `createAnswer`. This function receives the running call, with its outcome, its client
   * requests and a function to cancel it. Make it available to its caller only.
   *
   * @example examples/hooks/patience.ts#patience
   *
   * The call keeps its exchange, its deadline and its position in the server's queue. Its answer passes the
   * `response` taps when it arrives. If a caller already has 100 such calls, the next one is not moved to the
   * background. The time limit is paused during client requests.
   *
   * A plugin whose server stores its own work sets `onTimeout` instead of `createAnswer`: it is called when the
   * time limit is reached, nothing is stored, and the server answers the call then. Agents work this way: their
   * tasks are on disk before a client waits for them.
   */
  call: (call: Call) => void
  /**
   * Runs: When the answer has arrived, in the reverse order of `request`.
   *
   * May change: The answer: return a new one. Answers that a plugin returned in `request` also pass here. The body
   * is parsed only if a tap reads it.
   *
   * If it throws: The request fails.
   *
   * @example examples/hooks/passing.ts#response
   */
  response: (answer: Answer, exchange: Exchange) => MaybePromise<Answer | Undecided>
  /**
   * Runs: Last, exactly once for each request, whether it succeeded or not.
   *
   * May change: Nothing; it only observes. `exchange.answer` is the answer that the client receives. With `timed:
   * true`, `exchange.times` counts upstream calls (`tries`), the time in servers (`upstream`) and for client requests
   * (`client`). Without such a tap nothing is measured. `exchange.record` has the facts for logs and statistics, without secrets.
   *
   * If it throws: The error is logged; the client still receives its answer.
   *
   * @example examples/hooks/passing.ts#settled
   */
  settled: (exchange: Exchange) => void
  /**
   * Runs: When a list is built, once for each caller and kind; the result is cached until a list changes.
   *
   * May change: The entries: leave some out, or return copies with another `exposed` name. Entries that are left out
   * cannot be called.
   *
   * If it throws: The request that needed the list fails.
   *
   * @example examples/hooks/passing.ts#catalog
   *
   * An entry can also be withheld under its name: it appears in no list, and its calls are answered with its
   * `refusal`. The name stays reserved for it, so no other server can take it. With `marks`, a tap passes data to
   * later taps and to policies: `exchange.entry` is the entry by which a call was routed, marks included, in `call`
   * taps and all later ones. One mark is built in if pins are on: `pin` is `same`, `new` or `changed`. `isUnlisted`
   * is true if the requested name is in no list; `value` then has only the name. Skills pass one by one, with the kind
   * `skills`; the entry of a file has the file's URI and the skill's `value`.
   *
   * @example examples/hooks/passing.ts#withhold
   */
  catalog: (entries: readonly CatalogEntry[], view: CatalogView) => readonly CatalogEntry[] | Undecided
  /**
   * Runs: After `catalog`, when a list is returned: once for each caller and each class of clients, and again when a
   * list changes.
   *
   * May change: The list as a client is shown it: leave entries out, reorder them, or return copies with another
   * `exposed` name (tools and prompts) or another `value`.
   *
   * If it throws: The request that needed the list fails.
   *
   * @example examples/hooks/listing.ts#listing
   *
   * A class may depend on the URL that the client uses:
   *
   * @example examples/hooks/listing.ts#choices
   *
   * `catalog` decides which entries exist, `listing` how they are shown. An entry that a tap leaves out or renames
   * can still be called by its real name, and by each name that an earlier tap gave it. Shown names are mapped back
   * by a table that is stored with the list: when `request` taps run, `params.name` is the real name. Rules, limits,
   * the cache and the audit only see real names.
   *
   * Each tap returns a client's class from `readers`; clients in one class share one list, which is built once.
   * Derive the class from a small set of values, such as a table row: clients choose their own names, and modern
   * clients may change them in each request. Beyond 32 classes, lists are rebuilt for each request. If a tap returns
   * `undefined` or the same entries, the list is reused unchanged.
   *
   * An entry is not shown, and a warning is logged, if its shown name is the real name of another entry, if another
   * entry is already shown under this name, or if it is in no list. To add a plugin's entries, add an upstream in
   * `configure`, create it in `createUpstream`, and select the clients that see its entries in `listing`.
   *
   * A tap may also add entries that no server has, with `upstream: ''` and an unused name. They are only shown: the
   * plugin must answer their calls in `request`.
   */
  listing: (shown: readonly CatalogEntry[], reader: ListingReader) => readonly CatalogEntry[] | Undecided
  /**
   * Runs: Once for each `initialize` or `server/discover`, with the instructions of the client's servers.
   *
   * May change: The instructions: leave some out, or return copies with another text.
   *
   * If it throws: The request fails.
   *
   * @example examples/hooks/passing.ts#instructions
   */
  instructions: (
    instructions: readonly UpstreamInstructions[],
    view: Pick<CatalogView, 'principal' | 'profile'>,
  ) => readonly UpstreamInstructions[] | Undecided
  /**
   * Runs: For each notification in both directions: `client` is toward the client, `upstream` toward the server.
   *
   * May change: The notification: `'drop'` discards it. If a tap returns another notification, that one is sent, and
   * later taps are skipped.
   *
   * If it throws: The notification is dropped, and the error is logged.
   *
   * @example examples/hooks/passing.ts#notification
   */
  notification: (notification: Notification, context: NotificationContext) => Notification | 'drop' | Undecided
  /**
   * Runs: When a server sends a client request during a call: elicitation, sampling or roots.
   *
   * May change: The answer. If a tap returns one, the client is not asked; `undefined` forwards the request to the
   * client.
   *
   * If it throws: The server receives an error.
   *
   * @example examples/hooks/passing.ts#clientRequest
   */
  clientRequest: (ask: Ask, exchange: Exchange) => MaybePromise<Answer | Undecided>
  /**
   * Runs: When a rule requires approval for a call, before the server is called. `api.requestApproval` starts it.
   *
   * May change: Whether the call is made: granted for this single call, or refused with an answer. `undefined`
   * leaves the decision to the next tap; without a decision the call is refused. The timeout is ten minutes.
   * `findChange` returns the change since the request, if any.
   *
   * If it throws: The request fails.
   *
   * @example examples/hooks/approving.ts#approval
   */
  approval: (request: ApprovalRequest) => MaybePromise<Approval | Undecided>

  // Lifecycle and operations
  // These run outside the request pipeline.

  /**
   * Runs: After everything is built and before listeners open. Open files and connections here, not in `setup`.
   *
   * May change: Nothing. The start waits for the promise.
   *
   * If it throws: The start stops.
   *
   * @example examples/hooks/living.ts#ready
   */
  ready: () => MaybePromise<void>
  /**
   * Runs: When a session has ended: a client's, opened with `initialize`, or a connection to a server. Modern clients
   * have no sessions.
   *
   * May change: Nothing; it only observes. `error` is set if the connection to a server was lost.
   *
   * If it throws: The error is logged.
   *
   * @example examples/hooks/living.ts#sessionEnd
   */
  sessionEnd: (session: EndedSession) => void
  /**
   * Runs: When a server's state changes: `idle`, `starting`, `ready`, `needs_auth`, `failed`, `stopped`.
   *
   * May change: Nothing; it only observes.
   *
   * If it throws: The error is logged.
   *
   * @example examples/hooks/living.ts#upstreamState
   */
  upstreamState: (upstream: string, state: UpstreamState, problem: string | undefined) => void
  /**
   * Runs: For each server when `gateway ps`, `inspect` or the API requests its status.
   *
   * May change: The status: return a copy with an additional key.
   *
   * If it throws: The command fails, and `/metrics` is answered with 500.
   *
   * @example examples/hooks/living.ts#status
   */
  status: (status: UpstreamStatus, upstream: Upstream) => UpstreamStatus | Undecided
  /**
   * Runs: When the gateway's health is requested: by `gateway ps` and `doctor`, `/readyz`, `/metrics` and the
   * control verb `health`.
   *
   * May change: The list of findings. Create them with `defineFindings` from a table that the plugin declares as
   * `health`. Do not change their codes, as monitors depend on them. A finding with an `upstream` is returned only
   * to callers that may see that upstream.
   *
   * If it throws: A finding reports the error.
   *
   * @example examples/hooks/living.ts#health
   */
  health: (findings: readonly HealthFinding[]) => readonly HealthFinding[] | Undecided
  /**
   * Runs: When `/metrics` is requested.
   *
   * May change: The list of metrics. Names begin with `tapgate_`; counters end with `_total`.
   *
   * If it throws: The request is answered with 500.
   *
   * @example examples/hooks/living.ts#metrics
   */
  metrics: (figures: readonly Metric[]) => readonly Metric[] | Undecided
  /**
   * Runs: When the owner sends a command through the control socket or `gateway.control(verb)`. Taps are selected by
   * the verb.
   *
   * May change: The result. A plugin's own command calls its verb, see [above](../plugins.md#6-add-a-command). With
   * `{ readOnly: true }` the verb changes nothing and is not audited.
   *
   * If it throws: The command fails with the error.
   *
   * @example examples/hooks/living.ts#control
   */
  control: (params: JsonObject) => MaybePromise<JsonObject | Undecided>
  /**
   * Runs: For `gateway explain`, which explains how a call would be handled. Nothing is called or counted.
   *
   * May change: The steps: return a list with additional steps, each with its pipeline position (`at`), its effect
   * and the reason. The first step that `answers`, `refuses` or `asks` is the last one shown. Entries that a
   * `catalog` tap hides or renames need no step.
   *
   * If it throws: The command fails.
   *
   * @example examples/hooks/living.ts#explain
   */
  explain: (steps: readonly ExplainStep[], about: ExplainedCall) => readonly ExplainStep[] | Undecided
  /**
   * Runs: For each audit event that is not an MCP request, such as an HTTP request that was refused.
   *
   * May change: Nothing; it only observes. Plugins add events with `api.record(event)`.
   *
   * If it throws: The error is logged.
   *
   * @example examples/hooks/living.ts#auditEvent
   */
  auditEvent: (event: AuditEvent) => void
  /**
   * Runs: When the gateway begins to stop. Running calls have `graceMs` milliseconds to finish.
   *
   * May change: Nothing.
   *
   * If it throws: The error is logged.
   *
   * @example examples/hooks/living.ts#stopping
   */
  stopping: (graceMs: number) => void
  /**
   * Runs: At shutdown, in the reverse order of setup; also after a reload has replaced the plugin, and after a
   * failed start.
   *
   * May change: Nothing. Close files and connections that `setup` and `ready` opened. The shutdown waits for the
   * promise.
   *
   * If it throws: The error is logged, and the other plugins are closed.
   *
   * @example examples/hooks/living.ts#close
   */
  close: () => MaybePromise<void>
}
