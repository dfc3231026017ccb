/**
 * All that a plugin author needs.
 *
 * ```ts
 * import { refuse, type Plugin } from 'tapgate/plugin'
 *
 * const plugin: Plugin<{ words: string[] }> = {
 *   name: 'no-words',
 *   setup({ options, hooks }) {
 *     hooks.request.tap({ methods: ['tools/call'] }, exchange =>
 *       options.words.includes(String(exchange.params?.name)) ? refuse(-32602, 'that tool is not for you') : undefined,
 *     )
 *   },
 * }
 * export default plugin
 * ```
 */
import type {
  Approval,
  ApprovalRequest,
  AuditEvent,
  ClientLimits,
  Clock,
  Exchange,
  Fetch,
  Handles,
  SharedStore,
  Log,
  Programs,
  Session,
  Notification,
} from './api/index.ts'
import type { CatalogEntry } from './api/catalog-entry.ts'
import type { PluginCommands } from './api/command.ts'
import type { Config } from './config/config.gen.ts'
import type { PluginHooks } from './hooks/hooks.ts'
import type { JsonObject } from './protocol/json/json.ts'
import type { ErrorTable } from './errors/errors.ts'
import type { HealthTable } from './errors/health.ts'
import type { Report } from './util/finding.ts'
import type { PrivatePath } from './util/private-path.ts'

/** State of one plugin on one exchange or session, without a bag of strings. */
export interface Slot<K, T> {
  /** The state, made by the slot's `init` on first use. */
  get(owner: K): T
  set(owner: K, value: T): void
}

/** Parameter of `setup`. */
export interface PluginApi<Options = unknown> {
  /** The section's or `plugins.<name>.options`' value, validated against the plugin's schema. */
  readonly options: Options
  /** The whole configuration, frozen. */
  readonly config: Config
  /** The hooks; tapping ends when `setup` has returned. */
  readonly hooks: PluginHooks
  readonly log: Log
  readonly clock: Clock
  /** Directory that relative paths of the configuration are relative to. */
  readonly directory: string
  /** Every file that the configuration was read from, the main one first: overlays, what it extends, what `${file:}` names. */
  readonly files: readonly string[]
  /** Places that only the gateway may see, such as its configuration, state and secrets: for no program that runs for others. */
  readonly privatePaths: readonly PrivatePath[]
  /** The text with every secret of the configuration replaced by `***`, also where it is encoded as base64, hex, or for a URL. */
  hide(text: string): string
  /** Hides a value from here on wherever text leaves: one that came while the gateway runs, such as a token. Of thousands the oldest are forgotten. */
  addSecret(value: string): void
  /** Gives the taps of `auditEvent` something that happened in this plugin and that an audit should have. */
  record(event: AuditEvent): void
  /** Asks a URL that somebody else may have named, such as a server: never use the global one for those. */
  readonly fetch: Fetch
  /**
   * Asks the taps of `approval` for a person's decision on a call; undefined where nobody decides, and then the call must
   * not be made. For taps of `dispatch` with `asks: true`, so that a client which thinks keeps nothing open.
   */
  requestApproval(request: ApprovalRequest): Promise<Approval | undefined>
  /** Handles for what this plugin keeps for its callers. */
  readonly handles: Handles
  /** Asks the taps of `clientLimits` what is known of a client by the name that it gives itself. */
  getClientLimits(name: string): ClientLimits
  /** Asks the taps of `rank` how well candidates fit a query; undefined where nobody says. */
  rank(query: string, candidates: readonly CatalogEntry[]): Promise<readonly number[] | undefined>
  /**
   * Runs one of the verbs of the gateway's owner, as the control socket does: `ps`, `upstream.restart`, or one of a plugin.
   * From taps alone: while plugins are set up there is no gateway to steer. It has all rights: ask first whose wish it is.
   */
  control(verb: string, params?: JsonObject): Promise<JsonObject>
  /** Has the gateway hear a notification as if this server had sent it just now; nothing where there is no such server. */
  emitNotification(upstream: string, notification: Notification): void
  /** Reads YAML that is not the gateway's, as plain data. Rejects where it is none, or has too many aliases. */
  parseYaml(text: string): Promise<unknown>
  /**
   * Name of this process among those that are one gateway to their clients, for an `HttpReply` with `at`. Undefined where it is the
   * only one, or requests of plugins are not handed on. From taps alone; another one when the process had to take another name.
   */
  getReplicaId(): string | undefined
  /** Runs programs as children of the gateway. */
  readonly programs: Programs
  /** Directory for what outlives this process, in files of the plugin's own; it may not exist yet. Undefined where nothing outlives it. */
  readonly state: string | undefined
  /**
   * Memory that this gateway has in common with other processes that are the same gateway: replicas.
   * Undefined where it is one process, and so nothing need be shared. The same for as long as it serves this generation.
   */
  readonly shared?: SharedStore | undefined
  /** A place for state on each exchange: `const started = slot.exchange(() => clock.now())`. */
  readonly slot: {
    exchange<T>(init: (exchange: Exchange) => T): Slot<Exchange, T>
    /** The same for a session. A modern HTTP request is a session of its own: there this state lives no longer than the request. */
    session<T>(init: (session: Session) => T): Slot<Session, T>
    /** State of the whole gateway, made once: every later generation of the plugin gets the same. */
    gateway<T>(init: () => T): T
  }
}

/** A plugin: a name and a setup that taps hooks. */
export interface Plugin<Options = unknown> {
  /** Unique among the installed plugins; `before` and logs use it. */
  readonly name: string
  /** First-party plugins only: the config keys that install it, and what it adds to a configuration. */
  readonly claims?: {
    /** A top-level key. */
    readonly section?: keyof Config
    /** Keys of any upstream. */
    readonly upstream?: readonly string[]
    /** Keys of any profile. */
    readonly profile?: readonly string[]
    /** True if they say how an upstream is made: with another value it is made anew. */
    readonly makesUpstreams?: boolean
    /** Installed whatever the config says. */
    readonly always?: boolean
    /** True if it writes down or counts what is served: a gateway that a command has for itself goes without it. */
    readonly records?: boolean
    /** Names of upstreams and listeners that `configure` adds: rules may speak of them, and nobody else may have them. */
    readonly adds?: { readonly upstreams?: readonly string[]; readonly listeners?: readonly string[] }
  }
  /**
   * JSON Schema (draft-07) of `options`, which may stand in a section of the plugin's name; without one, anything goes. That of a
   * first-party plugin stands under `sections` in its `schema.json`, and is compiled into the gateway.
   */
  readonly schema?: JsonObject
  /** Its error codes, made with `defineErrors`; `gateway errors` shows them. */
  readonly errors?: ErrorTable
  /** Its findings about how it does, made with `defineFindings` and added by the `health` hook. */
  readonly health?: HealthTable
  /**
   * Looks at what a schema cannot say, in `validate`, `serve` and at each reload, before `setup`. Of a first-party plugin
   * it sees any plain data, valid or not; of any other a configuration that is valid so far.
   */
  check?(config: unknown, report: Report, own: CheckedOptions<Options>): void
  /**
   * Looks at what can be said once servers have listed their tools: `known` has those of each server whose list is known. Runs in
   * `inspect` and `validate`; its findings are warnings.
   */
  checkTools?(config: unknown, known: KnownTools, report: Report): void
  /** Its commands: `() => import('./commands.js')`, a file that exports `commands` and imports little. */
  readonly commands?: () => Promise<{ readonly commands: PluginCommands }>
  /** First-party plugins only: true where what it keeps in `state` is for gateways beside it too, such as that of a command. */
  readonly sharesState?: boolean
  /**
   * First-party plugins only: files that it reads when it is set up, relative to the configuration. With `--watch` a
   * change of one of them is a reload.
   */
  reads?(config: Config): readonly string[]
  /** Plugins that must be installed too, and are set up first. */
  readonly requires?: readonly string[]
  /** True if it is set up ahead of all others, as they get what it gives: for taps of `sharedStore`. */
  readonly early?: boolean
  /** Reads its options once, prepares its look-ups, taps. A throw or rejection stops the start. */
  setup(api: PluginApi<Options>): void | Promise<void>
}

/** Tools of each server whose list is known, ahead of what rules make of them. */
export type KnownTools = ReadonlyMap<
  string,
  readonly {
    /** The server's own name for it. */
    readonly original: string
    /** Name under which `filters` speak of it. */
    readonly exposed: string
    readonly value: JsonObject
  }[]
>

/** Options that a plugin's `check` looks at, with the place and the names that it may want to point at. */
export interface CheckedOptions<Options = unknown> {
  /** Its section, or `plugins.<name>.options`. */
  readonly options: Options
  /** Place of the options, as a JSON pointer: `/budget`, or `/plugins/budget/options`. */
  readonly pointer: string
  /** Names that its rules may speak of: those of the configuration, and those that plugins add. */
  readonly names: { readonly upstreams: readonly string[]; readonly listeners: readonly string[] }
}

/** Gives a plugin its types without a cast. */
export function definePlugin<Options>(plugin: Plugin<Options>): Plugin<Options> {
  return plugin
}

export { answer, refuse, toolError, createUpstreamAnswer } from './api/answers.ts'
export {
  actorKey,
  ANONYMOUS,
  authorizationKey,
  compileCallers,
  callerKey,
  conversationKey,
  getCredentialType,
  storeToken,
  principalKey,
  STRANGER,
  getToken,
} from './api/principal.ts'
export { createProfileLookup, type ProfileViewer } from './api/profile-lookup.ts'
export {
  defineErrors,
  describeReason,
  gatewayError,
  GatewayError,
  getHttpStatus,
  getErrorMessage,
  type ErrorEntry,
  type ErrorTable,
} from './errors/errors.ts'
export {
  defineFindings,
  LEVELS,
  type Health,
  type HealthEntry,
  type HealthFields,
  type HealthFinding,
  type HealthTable,
  type HealthLevel,
} from './errors/health.ts'
export type { PrivatePath } from './util/private-path.ts'
export { formatBytes, formatDuration, toOneLine, decodePercent, sanitizeText } from './util/plain-text.ts'
export { checkKeyPair, checkKnownName, type Finding, type Report } from './util/finding.ts'
export { parseCookie, hashSecret, isSameSecret } from './util/secrets.ts'
export { tryParseJson, readList, readMap, readText, readValue } from './util/plain-data.ts'
export { parsePointer, appendPointer } from './util/finding.ts'
export { describeArguments } from './protocol/json/members.ts'
export { suggestName, suggestHint } from './util/suggest.ts'
export { readOwnPackage } from './util/version.ts'
export { BoundedMap, type BoundedMapOptions } from './util/bounded-map.ts'
export { createActiveGetter } from './util/active-getter.ts'
export { runToCompletion, runInSlices } from './util/queues.ts'
export { CountedTopic, type TopicGap, type TopicOptions } from './util/storage/counted-topic.ts'
export * from './util/storage/shared-store.ts'
export { collectGarbage } from './util/process/resident-memory.ts'
export { FairQueue } from './util/queues.ts'
export { TextStream } from './util/queues.ts'
export { findProgram } from './util/find-program.ts'
export { compileGlobs, findUnclosed } from './util/globs.ts'
export { canonicalizeUri, normalizeAuthority } from './protocol/uri.ts'
export { parseParamHeaders, getParamHeaders, type ParamHeader } from './protocol/headers.ts'
export { loadKeyFile } from './util/storage/key-file.ts'
export { makeDirectory, makeDirectorySync } from './util/storage/files.ts'
export { compileAllowedUris, compileForbiddenUris } from './protocol/uri-patterns.ts'
export {
  isSqlBusy,
  loadSqlite,
  getSqlCode,
  SqlDatabase,
  getSqlNumber,
  getSqlText,
  type SqlRow,
} from './util/storage/sqlite.ts'
export { estimateBytes, parseDuration, parseSize, estimateTokens } from './util/units.ts'
export { findMissingCapabilities, normalizeCapabilities } from './protocol/era/capabilities.ts'
export { hasFailed, getOutcome, OUTCOMES, type ExchangeOutcome } from './api/exchange.ts'
export { Payload } from './protocol/payload.ts'
export { RPC } from './protocol/rpc-error.ts'
export { RpcPeer, type RpcPeerLimits } from './protocol/rpc-peer.ts'
export { LIST_CHANGES, LISTS, METHODS, getChangedKinds, type Kind } from './protocol/methods.ts'
export { canonicalizeJson } from './protocol/json/json.ts'
export { isObject, filterObjects, type JsonObject } from './protocol/json/json.ts'
export { parseParams } from './protocol/jsonrpc.ts'
export type {
  AskGateway,
  CommandArgument,
  CommandCall,
  CommandConfig,
  CommandFlag,
  CommandOutput,
  CommandStyle,
  PluginCommand,
  PluginCommands,
} from './api/command.ts'
export type * from './api/listener.ts'
export type {
  Answer,
  Approval,
  ApprovalRequest,
  Ask,
  AskReply,
  AskWatcher,
  AuditEvent,
  Authorizer,
  Call,
  WrappedCall,
  WrappedRequest,
  ClientCertificate,
  ClientDescription,
  Clock,
  Config,
  CredentialHeaders,
  Credentials,
  Dispatch,
  Era,
  Exchange,
  Fetch,
  FetchOptions,
  Metric,
  Gate,
  Handles,
  HostedCall,
  HttpMethod,
  HttpReply,
  HttpRequest,
  HttpErrorResponse,
  IncomingRequest,
  Listener,
  ListenerConfig,
  ListenerContext,
  Load,
  Log,
  Notification,
  OutgoingRequest,
  PatienceLimit,
  Principal,
  Program,
  ProgramExit,
  Programs,
  ProgramSpec,
  Readiness,
  Refusal,
  Route,
  RpcError,
  RpcId,
  RunningExchange,
  ClientLimits,
  RunningCall,
  ServerDescription,
  Session,
  SessionInit,
  TextReply,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamHttp,
  UpstreamHttpReply,
  UpstreamHttpRequest,
  UpstreamMemory,
  UpstreamEndpoint,
  UpstreamRefusal,
  UpstreamRuntime,
  UpstreamState,
  UpstreamStatus,
  Via,
} from './api/index.ts'
export type {
  CacheConfig,
  CachePolicyConfig,
  CacheToolConfig,
  UpstreamCacheConfig,
} from './config/config.gen.ts'
export { isOwnName, assignOwnNames, type CatalogEntry } from './api/catalog-entry.ts'
export type { CatalogView, ListingReader, UpstreamInstructions } from './api/catalog-view.ts'
export type { ExplainedCall, ExplainStep, CallPhase, PhaseTimes } from './api/explain.ts'
export type { Stage, TapOptions } from './hooks/hook-table.ts'
export type { NotificationContext } from './hooks/hook-taps.ts'
export type { PluginHooks, Tappable, TappableMap } from './hooks/hooks.ts'
