import type {
  ClientLimits,
  Answer,
  Approval,
  ApprovalRequest,
  Ask,
  AuditEvent,
  Authorizer,
  Call,
  WrappedCall,
  WrappedRequest,
  ChoiceContext,
  Config,
  Credentials,
  Dispatch,
  Exchange,
  Metric,
  Load,
  HttpReply,
  HttpRequest,
  JsonObject,
  Listener,
  ListenerConfig,
  ListenerContext,
  PeerDirectory,
  Notification,
  PatienceLimit,
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
import type { ExplainedCall, ExplainStep } from '../api/explain.ts'

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

/** The signature of a tap on each hook. docs/reference/hooks.md is made of these comments; `@example` names a part of a file. */
export interface HookTaps {
  // Building the gateway
  // These run when a configuration becomes a gateway: at the start, and at each reload.

  /**
   * Runs: First of all, before anything is made.
   *
   * May change: The configuration, by returning another one. Servers and listeners that a tap adds are checked and
   * completed like those of the file. Nothing may be changed in place.
   *
   * If it throws: The start or the reload stops, and names the plugin.
   *
   * @example examples/hooks/building.ts#configure
   */
  configure: (config: Config) => Config | Undecided
  /**
   * Runs: Once for each server in the configuration, under the key of its `type`.
   *
   * May change: Which object stands for the server. The first tap that returns one decides; `undefined` leaves it to the
   * next, and in the end to the gateway.
   *
   * If it throws: The start or the reload stops.
   *
   * @example examples/hooks/building.ts#createUpstream
   *
   * The object that a tap returns has a state, what the server said of itself, and three functions:
   *
   * @example examples/hooks/building.ts#upstream
   *
   * An upstream that reaches a server over HTTP without speaking MCP opens `context.http({ url })`: the gateway's own
   * client, with the proxies of the environment, `tls`, HTTP/2, the headers of each call and the credentials of
   * `authorize` taps. `request` resolves with the whole reply, whatever its status is. Upstreams of `type: openapi` are
   * made so.
   */
  createUpstream: (spec: UpstreamConfig, context: UpstreamContext) => Upstream | Undecided
  /**
   * Runs: Before each process of a local server is started: the first one, and each one after it. A server that a reload
   * keeps is under the plugins of the new configuration.
   *
   * May change: Nothing. A text that it returns says why the process must not run: the server is down for that reason, and
   * is tried again later.
   *
   * If it throws: The process is not started.
   *
   * @example examples/hooks/building.ts#starting
   */
  starting: (start: ServerStart) => string | Undecided
  /**
   * Runs: Once for each listener in the configuration, under the key of its `type`.
   *
   * May change: Which object stands for the listener. `undefined` leaves it to the gateway.
   *
   * If it throws: The start or the reload stops.
   *
   * @example examples/hooks/building.ts#createListener
   */
  createListener: (spec: ListenerConfig, context: ListenerContext) => Listener | Undecided
  /**
   * Runs: Once, before listeners open, and at each reload: return the same object while it holds; listeners are opened
   * anew for another.
   *
   * May change: Which other processes are this gateway, too. `sealing` has the keys that all of them open cursors and ids
   * with, and the `replicaId` of this one (`r` and sixteen hex digits), which is part of what it alone can use. `createSessionId` makes
   * ids of sessions. `registerListener` is called for each HTTP listener, with the function that answers requests that other processes
   * took. `findPeer` returns who has what names a place: `here`, the address of another process, or a refusal.
   *
   * If it throws: The start or the reload stops.
   *
   * @example examples/hooks/building.ts#peers
   */
  peers: () => PeerDirectory | Undecided
  /**
   * Runs: While the other plugins are set up, at the start and at each reload: its plugin is `early: true`.
   *
   * May change: Which memory this gateway has in common with other processes that are the same gateway. The others get
   * what the first tap returns as [`shared`](../plugins.md#shared-state). Return the same object for as long as it is
   * the same memory. Where no tap says, there is none. A store of your own is held to the same contract as ours:
   * `test/unit/store/shared-store.test.ts` of the repository asks it everything.
   *
   * If it throws: The start or the reload stops.
   *
   * @example examples/hooks/sharing.ts#sharedStore
   */
  sharedStore: () => SharedStore | Undecided
  /**
   * Runs: Once for each server, before it is made. What it returns runs for each HTTP request to that server: POST, GET
   * and DELETE, and the handshake of a WebSocket.
   *
   * May change: The credentials of these requests. `headers` gives them, at once or as a promise. `refused` sees a 401 or
   * 403 with its challenge, and may give others: the request is sent again, three times at most. `query` adds parameters
   * to the URL. With `getAccount`, callers of different accounts share no connection, no session and no notification; set
   * `isolation: principal` too, so that they share no cached answer either.
   *
   * If it throws: When it is built: the start stops. In `headers` or `refused`: that request fails. An error of a table of
   * yours is the caller's answer.
   *
   * @example examples/hooks/building.ts#authorize
   */
  authorize: (spec: UpstreamConfig, context: UpstreamContext) => Authorizer | Undecided
  /**
   * Runs: Once for each server. What it returns runs for each call of that server.
   *
   * May change: How a call is made: return a function that wraps `next`. Plugins that were set up first are outermost.
   * With `asks: true` it may ask the client first (`call.exchange.ask`), whatever the client's version and the server's;
   * an error that it returns in the server's place names it as `refusedBy`. `phase` (`policy`, `cache` or `queue`) says
   * what the time counts as that it takes itself, for those who look where the time of a call went; without it that is
   * `other`.
   *
   * While the client is asked nobody works for a call, and a person may think for minutes. A tap that keeps something
   * scarce for a call, such as a turn, gives it back meanwhile: `call.exchange.watchAsks` tells it when that begins and
   * ends. The exchange of a call that goes on for a task has the request that was answered with the task as its `origin`.
   *
   * If it throws: When it is built: the start stops. In a call: that request fails.
   *
   * @example examples/hooks/building.ts#dispatch
   */
  dispatch: (next: Dispatch, upstream: Upstream) => Dispatch | Undecided

  // Clients arrive
  // These run at a listener, before there is a request. All but `session` and `sessionEnd` are about HTTP.

  /**
   * Runs: For each request at a listener, before anything is read. It must be quick. Over HTTP the tap is told the path,
   * too.
   *
   * May change: Whether the request goes on: a refusal answers it, and `'close'` ends the connection with the answer.
   *
   * If it throws: That request fails.
   *
   * @example examples/hooks/arriving.ts#admit
   */
  admit: (listener: string, path?: string) => Refusal | 'close' | Undecided
  /**
   * Runs: For each HTTP request, before its body is read. Open streams are asked about again at each reload, and twice a
   * minute. `listeners` keeps the tap off other listeners.
   *
   * May change: Whose the request is. The first `Principal` or `Refusal` decides; nobody's is `anonymous`, if no plugin
   * says.
   *
   * If it throws: The request is answered with 500.
   *
   * @example examples/hooks/arriving.ts#authenticate
   */
  authenticate: (credentials: Credentials) => MaybePromise<Principal | Refusal | Undecided>
  /**
   * Runs: After a request was not let in.
   *
   * May change: Nothing: it watches.
   *
   * If it throws: It is logged; nothing else happens.
   *
   * @example examples/hooks/arriving.ts#refused
   */
  refused: (refusal: Refusal, credentials: Credentials) => void
  /**
   * Runs: When the URL of an MCP endpoint has a parameter of the name that the tap names, once the caller was let in. It
   * is synchronous.
   *
   * May change: Whether the client may choose that: a text says what is wrong, and the request is answered with 400. What
   * was let pass is in `session.choices` and, for `listing` taps, in `reader.choices`. It is a wish of whoever has the
   * URL, and no right.
   *
   * If it throws: That request fails.
   *
   * @example examples/hooks/listing.ts#choice
   *
   * Parameters that no tap names are passed over. A legacy session keeps what it was opened with, also where another
   * process goes on with it.
   */
  choice: (value: string, by: ChoiceContext) => string | Undecided
  /**
   * Runs: For a request to the path that the tap names, on every HTTP listener. The caller is in `request.caller`.
   * `/jobs/*` is every path that differs in its last part, but for those that are named themselves.
   *
   * May change: The reply. `undefined` leaves it to the next tap of this path. With `replicaId`, the request is handed on to the
   * [replica](../deploy.md#replicas) of that place, which `api.getReplicaId()` names there; the rest of the reply is for the case that it
   * is gone.
   *
   * If it throws: That request is answered with 500.
   *
   * @example examples/hooks/arriving.ts#http
   */
  http: (request: HttpRequest) => MaybePromise<HttpReply | Undecided>
  /**
   * Runs: When a client begins a conversation. A modern HTTP request is one of its own.
   *
   * May change: Whether it may: a throw refuses it.
   *
   * If it throws: The session is refused, and the client gets the error.
   *
   * @example examples/hooks/arriving.ts#session
   */
  session: (session: Session) => MaybePromise<void>
  /**
   * Runs: When a session has ended, for whatever reason.
   *
   * May change: Nothing: it watches. State in `slot.session` is still there.
   *
   * If it throws: It is logged; the other taps run.
   *
   * @example examples/hooks/arriving.ts#sessionEnd
   */
  sessionEnd: (session: Session, reason: string) => void

  // A request on its way
  // These run for each request, in this order. `methods` keeps a tap off all others, which costs nothing.

  /**
   * Runs: For each `tools/call`, before the name of its tool is settled and before `request`.
   *
   * May change: Which call it is. The call that a tap returns takes the place of the one that came: its name may be one
   * that the client was shown, and rules, limits, the cache, the audit and the answer know no other. Arguments that are an
   * object of those that came go on byte for byte.
   *
   * If it throws: The request is answered with an error.
   *
   * @example examples/hooks/carrying.ts#unwrap
   *
   * A call may also carry a request of another method. A tap returns `method`, `params` and `convertAnswer`, which makes a
   * tool's result of the answer when all taps have seen that. A call may carry a call that carries a request, and no more.
   *
   * @example examples/hooks/carrying.ts#carriedRequest
   *
   * The headers of such a request are about the call that came, so they are not compared with the arguments of the one
   * inside. `exchange.listShownEntries('tools')` is the list as the client of this request is shown it.
   *
   * A request may also make calls of its own. `exchange.callTool` takes the same way as any call of the caller, so rules,
   * limits and the audit see each one. Its client cannot be asked, it ends with the request, and a call that was made so
   * makes no others.
   *
   * @example examples/hooks/carrying.ts#callTool
   */
  unwrap: (exchange: Exchange) => MaybePromise<WrappedCall | WrappedRequest | Undecided>
  /**
   * Runs: First, before it is known where the request goes.
   *
   * May change: `exchange.params`, by setting another object; and the answer: the first one returned ends the request, and
   * no server is called. With `calls: true` it may take ten minutes for calls of its own (`exchange.callTool`), and not
   * `hooks.timeout` alone.
   *
   * If it throws: That request fails.
   *
   * @example examples/hooks/passing.ts#request
   */
  request: (exchange: Exchange) => MaybePromise<Answer | Undecided>
  /**
   * Runs: After `request`, when it is decided where the request goes.
   *
   * May change: The route: one server with the parameters as that server knows them, or several. `undefined` leaves it to
   * the catalog, which knows who has the name.
   *
   * If it throws: That request fails.
   *
   * @example examples/hooks/passing.ts#route
   */
  route: (exchange: Exchange) => Route | Undecided
  /**
   * Runs: Just before a server is called. It is synchronous.
   *
   * May change: `call.params`, by setting another object, and `call.headers`, which go to servers over HTTP. Requests of
   * lists that the gateway itself makes pass here too.
   *
   * If it throws: That request fails; a list comes without that server.
   *
   * @example examples/hooks/passing.ts#call
   */
  call: (call: Call) => void
  /**
   * Runs: Just after `call`, before a server is called.
   *
   * May change: How long the client is kept waiting; a tap is given what those before it said. A call that takes longer
   * goes on after its answer: as a task for a client that knows tasks, and for every other with the answer that `createAnswer`
   * gives. That is given the call: its outcome, what it asks, and the way to end it. Keep it for its caller alone.
   *
   * If it throws: That request fails.
   *
   * @example examples/hooks/patience.ts#patience
   *
   * The call keeps its exchange, its deadline and its place in the queue of its server. Its answer passes the `response`
   * taps when it comes. Where a caller has 100 such calls already, one more simply takes as long as it takes. While the
   * client is asked something, the time stands still.
   *
   * A plugin whose server keeps its work by itself returns `onTimeout` in place of `createAnswer`: it is called when the time is up,
   * nothing is kept, and the server answers the call then. Agents do so: a task of theirs is on disk before anybody waits
   * for it.
   */
  patience: (known: PatienceLimit | undefined, call: Call) => PatienceLimit | Undecided
  /**
   * Runs: When a plugin asks with `api.clientFacts(name)`, as `shape` does for `patience: client` and `maxTokens: client`.
   *
   * May change: What is known of a client by the name that it gives itself. The `fit` plugin answers first, from its table
   * of clients.
   *
   * If it throws: The request fails that wanted to know.
   *
   * @example examples/hooks/patience.ts#clientLimits
   */
  clientLimits: (known: ClientLimits, name: string) => ClientLimits | Undecided
  /**
   * Runs: When the answer has come, in the reverse order of `request`.
   *
   * May change: The answer: return another one. Answers that a plugin made in `request` pass here too. A body that no tap
   * reads is never parsed.
   *
   * If it throws: That request fails.
   *
   * @example examples/hooks/passing.ts#response
   */
  response: (answer: Answer, exchange: Exchange) => MaybePromise<Answer | Undecided>
  /**
   * Runs: Last, exactly once for each request, whatever came of it.
   *
   * May change: Nothing: it watches. `exchange.answer` is what the client gets. With `timed: true`, `exchange.times` says
   * how long the request was in each phase: `before` it left, `policy`, `cache`, `queue`, `upstream`, `client` (while that
   * was asked something), `other` plugins, `after`. Nothing is timed where no tap says so.
   *
   * If it throws: It is logged; the client gets its answer.
   *
   * @example examples/hooks/passing.ts#settled
   */
  settled: (exchange: Exchange) => void
  /**
   * Runs: When a list is made, once for each caller and kind; the result is kept until a list changes.
   *
   * May change: The entries: leave some out, or return copies with another `exposed` name. What is left out cannot be
   * called.
   *
   * If it throws: The request that wanted the list fails.
   *
   * @example examples/hooks/passing.ts#catalog
   *
   * An entry may also stay under its name and be withheld: it is in no list, and whoever calls it reads the `refusal`. Its
   * name remains its own, so that no other server can take it. With `marks` a tap leaves word for those after it, and for
   * policies: `exchange.entry` is the entry that a call was routed by, marks included, in `call` taps and all that run
   * later. One mark is built in, where pins are on: `pin` is `same`, `new` or `changed`. `isUnlisted` is set where
   * somebody asks for a name that no list has; its `value` then holds the name alone.
   *
   * @example examples/hooks/passing.ts#withhold
   */
  catalog: (entries: readonly CatalogEntry[], view: CatalogView) => readonly CatalogEntry[] | Undecided
  /**
   * Runs: After `catalog`, when a list goes out: once for each caller and each class of clients, and again when a list
   * changes.
   *
   * May change: What a client is shown: leave entries out, put them in another order, or return copies with another
   * `exposed` name (of tools and prompts) or another `value`.
   *
   * If it throws: The request that wanted the list fails.
   *
   * @example examples/hooks/listing.ts#listing
   *
   * `catalog` decides what there is, and `listing` how it is shown. What a tap leaves out stays callable by its name, and
   * so does a tool that is shown under another one; so does one that a later tap leaves out, by the name that an earlier
   * one gave it. A name that was shown leads back by a table that the list keeps: before `request` taps run, `params.name`
   * is the real one. Rules, limits, the cache and the audit never see another.
   *
   * Each tap says with `readers` what class a client is of; clients of one class are shown one list, which is made once.
   * Make it from what matters, such as a row of a table: clients name themselves, and a modern one may do so anew in each
   * request. Beyond 32 classes lists are made again each time. A tap that returns `undefined`, or the same entries, leaves
   * the very same list.
   *
   * A shown name that is another entry's real name would take calls from it, so such an entry is not shown, and the log
   * says so. The same holds for the second of two under one name, and for entries that are in no list: things of a
   * plugin's own come from an upstream that it adds in `configure` and makes in `createUpstream`; `listing` decides who is
   * shown them.
   *
   * A tap may also add entries that no server has, with `upstream: ''` and a name that nobody else has. They are shown and
   * nothing more: whoever adds one answers calls of it in `request`.
   */
  listing: (shown: readonly CatalogEntry[], reader: ListingReader) => readonly CatalogEntry[] | Undecided
  /**
   * Runs: When [tools are searched](../tools.md#search-instead-of-long-lists), with the query and the fifty best candidates.
   *
   * May change: Their order. The numbers that a tap returns, one for each candidate, are one order; what the words say is
   * another. The places in both decide. `undefined` leaves it to the words.
   *
   * If it throws: The search fails.
   *
   * @example examples/hooks/carrying.ts#rank
   */
  rank: (query: string, candidates: readonly CatalogEntry[]) => MaybePromise<readonly number[] | Undecided>
  /**
   * Runs: When a client is greeted, with the instructions that its servers have for a model; once for each greeting.
   *
   * May change: The instructions: leave some out, or return copies with another text.
   *
   * If it throws: The greeting fails.
   *
   * @example examples/hooks/passing.ts#instructions
   */
  instructions: (
    instructions: readonly UpstreamInstructions[],
    view: Pick<CatalogView, 'principal' | 'profile'>,
  ) => readonly UpstreamInstructions[] | Undecided
  /**
   * Runs: For each notification, in both directions: `client` is towards the client, `upstream` towards the server.
   *
   * May change: Whether it goes on: `'drop'` stops it. Another notification that a tap returns takes its place, and later
   * taps are not asked.
   *
   * If it throws: The notification is dropped, and the failure logged.
   *
   * @example examples/hooks/passing.ts#notification
   */
  notification: (
    notification: Notification,
    context: NotificationContext,
  ) => Notification | 'drop' | Undecided
  /**
   * Runs: When a server asks the client for something in the middle of a call: elicitation, sampling, roots.
   *
   * May change: The answer, in the place of the client. `undefined` asks the client.
   *
   * If it throws: The server gets an error.
   *
   * @example examples/hooks/passing.ts#clientRequest
   */
  clientRequest: (ask: Ask, exchange: Exchange) => MaybePromise<Answer | Undecided>
  /**
   * Runs: When a rule wants a person to decide about a call, before its server hears of it. `api.approve` runs it.
   *
   * May change: Whether the call is made: granted, for this call and once, or refused with an answer. `undefined` leaves
   * it to the next; where nobody decides the call is refused. It may wait for ten minutes. `changed` says what became
   * another thing meanwhile.
   *
   * If it throws: That request fails.
   *
   * @example examples/hooks/approving.ts#approval
   */
  approval: (request: ApprovalRequest) => MaybePromise<Approval | Undecided>

  // The gateway lives
  // These run beside requests.

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
   * Runs: When a listener has opened, or was kept by a reload.
   *
   * May change: Nothing. Now the URL is known, also where the port was 0.
   *
   * If it throws: It is logged.
   *
   * @example examples/hooks/living.ts#listening
   */
  listening: (listener: Listener) => void
  /**
   * Runs: When the state of a server changes: `idle`, `starting`, `ready`, `needs_auth`, `failed`, `stopped`.
   *
   * May change: Nothing: it watches.
   *
   * If it throws: It is logged.
   *
   * @example examples/hooks/living.ts#upstreamState
   */
  upstreamState: (upstream: string, state: UpstreamState, problem: string | undefined) => void
  /**
   * Runs: When somebody looks at a server with `gateway ps`, `inspect` or the API.
   *
   * May change: What is shown, by returning a copy with a key of its own.
   *
   * If it throws: The command fails, and `/metrics` is answered with 500.
   *
   * @example examples/hooks/living.ts#status
   */
  status: (status: UpstreamStatus, upstream: Upstream) => UpstreamStatus | Undecided
  /**
   * Runs: When somebody looks at the process with `gateway ps` or `inspect`.
   *
   * May change: What is shown.
   *
   * If it throws: The command fails.
   *
   * @example examples/hooks/living.ts#load
   */
  load: (load: Load) => Load | Undecided
  /**
   * Runs: When somebody asks how the gateway does: `gateway ps` and `doctor`, `/readyz`, `/metrics`, the verb `health`.
   *
   * May change: The list of findings. Make them with `defineFindings` from a table that the plugin has as `health`: its codes
   * stay, as monitors read them. A finding with an `upstream` is said only to those who may know of that.
   *
   * If it throws: A finding says so, in its place.
   *
   * @example examples/hooks/living.ts#health
   */
  health: (findings: readonly HealthFinding[]) => readonly HealthFinding[] | Undecided
  /**
   * Runs: When `/metrics` is read.
   *
   * May change: The list of figures. Names begin with `tapgate_`; a counter has the suffix `_total`.
   *
   * If it throws: The page is answered with 500.
   *
   * @example examples/hooks/living.ts#metrics
   */
  metrics: (figures: readonly Metric[]) => readonly Metric[] | Undecided
  /**
   * Runs: When the owner gives a command by the control socket or `gateway.control(verb)`, under the name of the verb.
   *
   * May change: The result. A plugin's own command calls it, see [above](../plugins.md#6-add-a-command). With `{ readOnly: true }` the verb
   * only looks, and an audit has no line of it.
   *
   * If it throws: The command fails with the error.
   *
   * @example examples/hooks/living.ts#control
   */
  control: (params: JsonObject) => MaybePromise<JsonObject | Undecided>
  /**
   * Runs: When somebody asks with `gateway explain` what would come of a call. Nothing is called or counted.
   *
   * May change: The steps, by returning a list with its own: where on the way (`at`), what it does, and why. The first
   * that `answers`, `refuses` or `asks` is the end. What a `catalog` tap hides or renames is seen without it.
   *
   * If it throws: The command fails.
   *
   * @example examples/hooks/living.ts#explain
   */
  explain: (steps: readonly ExplainStep[], about: ExplainedCall) => readonly ExplainStep[] | Undecided
  /**
   * Runs: When the owner names a caller in a command, as in `gateway explain --as key:ci`.
   *
   * May change: Who that is. The first `Principal` decides.
   *
   * If it throws: The command fails.
   *
   * @example examples/hooks/living.ts#resolveCaller
   */
  resolveCaller: (name: string) => Principal | Undecided
  /**
   * Runs: When something happened that an audit should have, and that is no request.
   *
   * May change: Nothing: it watches. `api.record(event)` is how a plugin adds one.
   *
   * If it throws: It is logged.
   *
   * @example examples/hooks/living.ts#auditEvent
   */
  auditEvent: (event: AuditEvent) => void
  /**
   * Runs: When the gateway begins to stop. Open calls have so many milliseconds.
   *
   * May change: Nothing.
   *
   * If it throws: It is logged.
   *
   * @example examples/hooks/living.ts#stopping
   */
  stopping: (graceMs: number) => void
  /**
   * Runs: At the end, in the reverse order of set-up; also when a reload has replaced the plugin, and when the start
   * fails.
   *
   * May change: Nothing. Close here what `setup` and `ready` opened. The end waits for the promise.
   *
   * If it throws: It is logged; the others are closed.
   *
   * @example examples/hooks/living.ts#close
   */
  close: () => MaybePromise<void>
}
