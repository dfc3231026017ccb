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
  KnownTools,
  SharedStore,
  Log,
  Programs,
  Session,
  Notification,
} from './api/index.ts'
import type { PluginCommands } from './api/command.ts'
import type { Config } from './config/config.gen.ts'
import type { PluginHooks } from './hooks/hooks.ts'
import type { JsonObject } from './protocol/json/json.ts'
import type { ErrorTable } from './errors/errors.ts'
import type { HealthTable } from './errors/health.ts'
import type { Report } from './util/finding.ts'
import type { PrivatePath } from './util/private-path.ts'

/** State of one plugin for each exchange or session. */
export interface Slot<K, T> {
  /** Returns the state; the slot's `init` creates it on first use. */
  get(owner: K): T
  set(owner: K, value: T): void
}

/** `setup` parameter. */
export interface PluginApi<Options = unknown> {
  /** Its section or `plugins.<name>.options`, validated against the plugin's schema. */
  readonly options: Options
  /** The whole configuration, frozen. */
  readonly config: Config
  /** The hooks; tapping is possible until `setup` returns. */
  readonly hooks: PluginHooks
  readonly log: Log
  readonly clock: Clock
  /** Base for relative paths. */
  readonly directory: string
  /** All configuration files, the main one first: overlays, `extends`, and `${file:}`. */
  readonly files: readonly string[]
  /**
   * The gateway's private paths, such as configuration, state and secrets: hide them from programs that run for
   * others.
   */
  readonly privatePaths: readonly PrivatePath[]
  /** Replaces every secret of the configuration by `***`, including base64, hex and URL encodings. */
  hide(text: string): string
  /**
   * Adds a secret found at run time, such as a token, to those that are hidden. Beyond some thousands the oldest are
   * dropped.
   */
  addSecret(value: string): void
  /** Passes an event to `auditEvent` taps. */
  record(event: AuditEvent): void
  /** Requests a URL that may be untrusted, such as one from a server. Use it instead of the global `fetch`. */
  readonly fetch: Fetch
  /**
   * Asks `approval` taps for a person's decision; undefined if no tap decides, and then the call must not be made.
   * For `dispatch` taps with `asks: true`, so that a waiting client holds no resources.
   */
  requestApproval(request: ApprovalRequest): Promise<Approval | undefined>
  /** Handles for data of callers in this process. */
  readonly handles: Handles
  /** Returns a client program's limits by its unverified name, from `services.getClientLimits`. */
  getClientLimits(name: string): ClientLimits
  /**
   * Runs a control verb, such as `ps`, `upstream.restart` or a plugin's verb. Available in taps, not during setup. It
   * has the owner's rights: authorize the caller first.
   */
  control(verb: string, params?: JsonObject): Promise<JsonObject>
  /** Handles a notification as if this server had sent it; ignored if the server is unknown. */
  emitNotification(upstream: string, notification: Notification): void
  /**
   * Returns the URL of an open listener, even if its configured port is 0; undefined for a pipe, and until it is open.
   */
  getListenerUrl(listener: string): string | undefined
  /** Parses YAML as plain data. Rejects if it is invalid, or has too many aliases. */
  parseYaml(text: string): Promise<unknown>
  /**
   * This replica's id for `HttpReply.replicaId`. Undefined without other replicas, or if plugin requests are not
   * forwarded. Available in taps; it changes if the process must take another id.
   */
  getReplicaId(): string | undefined
  /** Runs child programs. */
  readonly programs: Programs
  /** State directory for the plugin's own files; it may not exist yet. Undefined if nothing is saved. */
  readonly state: string | undefined
  /** Store that all replicas share. Undefined for a single process. The same object while this generation runs. */
  readonly shared?: SharedStore | undefined
  /** State of each exchange: `const started = slot.exchange(() => clock.now())`. */
  readonly slot: {
    exchange<T>(init: (exchange: Exchange) => T): Slot<Exchange, T>
    /** State of each session. A modern HTTP request is a session of its own, so the state ends with it. */
    session<T>(init: (session: Session) => T): Slot<Session, T>
    /** Gateway state, created once and retained across reloads. */
    gateway<T>(init: () => T): T
  }
}

/** A plugin: a name, and a setup function that taps hooks. */
export interface Plugin<Options = unknown> {
  /** Unique name; `before` and logs use it. */
  readonly name: string
  /** First-party plugins only: configuration keys that install it, and its additions. */
  readonly claims?: {
    /** A top-level key. */
    readonly section?: keyof Config
    /** Upstream keys. */
    readonly upstream?: readonly string[]
    /** Profile keys. */
    readonly profile?: readonly string[]
    /** True if a changed value recreates the upstream. */
    readonly makesUpstreams?: boolean
    /** True to install it with every configuration. */
    readonly always?: boolean
    /** True if it records or counts traffic: single-command gateways omit it. */
    readonly records?: boolean
    /**
     * Names of upstreams and listeners that `configure` adds: rules may use them, configurations may not declare
     * them.
     */
    readonly adds?: { readonly upstreams?: readonly string[]; readonly listeners?: readonly string[] }
  }
  /**
   * JSON Schema (draft-07) of `options`; without it any options are valid. First-party plugins have it under
   * `sections` in `schema.json`.
   */
  readonly schema?: JsonObject
  /** Error codes, created with `defineErrors`; `gateway errors` lists them. */
  readonly errors?: ErrorTable
  /** Health findings, created with `defineFindings` and added by the `health` hook. */
  readonly health?: HealthTable
  /**
   * Checks constraints that a schema cannot express, before `setup`: in `validate`, `serve` and at each reload.
   * First-party plugins get any plain data, valid or not; others a configuration that is valid so far.
   */
  check?(config: unknown, report: Report, own: CheckedOptions<Options>): void
  /** Checks rules against the known tool lists in `inspect` and `validate`; findings are warnings. */
  checkTools?(config: unknown, known: KnownTools, report: Report): void
  /** Loads its commands: `() => import('./commands.js')`, a small file that exports `commands`. */
  readonly commands?: () => Promise<{ readonly commands: PluginCommands }>
  /** First-party plugins only: true if other local gateway processes share `state`. */
  readonly sharesState?: boolean
  /**
   * First-party plugins only: files read during setup, relative to the configuration. `--watch` reloads when one
   * changes.
   */
  reads?(config: Config): readonly string[]
  /** Plugins that must be installed, and are set up first. */
  readonly requires?: readonly string[]
  /** True to set it up before all others; for a `services` tap with a `store`. */
  readonly early?: boolean
  /** Reads options and taps hooks. A throw or rejection stops the start. */
  setup(api: PluginApi<Options>): void | Promise<void>
}

/** Options and names for a plugin's `check`. */
interface CheckedOptions<Options = unknown> {
  /** Its section, or `plugins.<name>.options`. */
  readonly options: Options
  /** JSON pointer to the options: `/budget`, or `/plugins/budget/options`. */
  readonly pointer: string
  /** Names that rules may use, from the configuration and from plugins. */
  readonly names: { readonly upstreams: readonly string[]; readonly listeners: readonly string[] }
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
  principalKey,
  STRANGER,
  verifiedTokens,
} from './api/principal.ts'
export { createProfileLookup } from './api/profile-lookup.ts'
export { defineErrors, gatewayError, GatewayError, getHttpStatus, getErrorMessage } from './errors/errors.ts'
export { defineFindings, type HealthFinding } from './errors/health.ts'
export { escapeInvisible, formatBytes, formatDuration, sanitizeText, toOneLine } from './util/plain-text.ts'
export { checkKeyPair, checkKnownName, type Report } from './util/finding.ts'
export { openWithKey, sealWithKey } from './util/encryption.ts'
export { parseCookie, hashSecret } from './util/secrets.ts'
export { tryParseJson, readList, readMap, readText, readTexts, readValue } from './util/plain-data.ts'
export { appendPointer, resolvePointer, resolveReference } from './util/finding.ts'
export { suggestName, suggestHint } from './util/suggest.ts'
export { readOwnPackage } from './util/version.ts'
export { BoundedMap } from './util/bounded-map.ts'
export { createActiveGetter } from './util/active-getter.ts'
export { runInSlices } from './util/queues.ts'
export { CountedTopic } from './util/storage/counted-topic.ts'
export type { SharedStore } from './util/storage/shared-store.ts'
export { FairQueue } from './util/queues.ts'
export { TextStream } from './util/queues.ts'
export { findProgram } from './util/find-program.ts'
export { compileGlobs, findUnclosed } from './util/globs.ts'
export { parseAppUri, toAppUri } from './protocol/app-uri.ts'
export { parseSkillUri, toSkillUri } from './protocol/skill-uri.ts'
export { canonicalizeUri, normalizeAuthority } from './protocol/uri.ts'
export { parseParamHeaders, getParamHeaders } from './protocol/headers.ts'
export { loadKeyFile } from './util/storage/key-file.ts'
export { makeDirectorySync } from './util/storage/files.ts'
export { compileAllowedUris, compileForbiddenUris } from './protocol/uri-patterns.ts'
export { isSqlBusy, loadSqlite, getSqlCode, SqlDatabase, getSqlNumber, getSqlText } from './util/storage/sqlite.ts'
export { estimateBytes, parseDuration, parseSize, estimateTokens } from './util/units.ts'
export { supportsForms } from './protocol/era/capabilities.ts'
export { Payload } from './protocol/payload.ts'
export { RPC } from './protocol/rpc-error.ts'
export { RpcPeer } from './protocol/rpc-peer.ts'
export { EXTENSION_METHODS, LISTS, METHODS, SKILLS } from './protocol/methods.ts'
export { canonicalizeJson } from './protocol/json/json.ts'
export { isObject, filterObjects, type JsonObject } from './protocol/json/json.ts'
export { parseParams } from './protocol/jsonrpc.ts'
export { isAppOnly } from './protocol/list-entry.ts'
export type { CommandCall, CommandFinding, PluginCommands } from './api/command.ts'
export { FORMAT_FLAG } from './api/command.ts'
export type { PeerDirectory } from './api/listener.ts'
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
  ClientDescription,
  Clock,
  Config,
  CallRecord,
  Credentials,
  Dispatch,
  EndedSession,
  Exchange,
  Metric,
  HttpReply,
  HttpRequest,
  Listener,
  Log,
  Notification,
  Principal,
  Refusal,
  RunningCall,
  ServerDescription,
  Session,
  Upstream,
  UpstreamConfig,
  UpstreamContext,
  UpstreamState,
} from './api/index.ts'
export { isOwnName, assignOwnNames, type CatalogEntry } from './api/catalog-entry.ts'
export type { ListingReader } from './api/catalog-view.ts'
export type { ExplainStep } from './api/explain-step.ts'
export type { PluginHooks } from './hooks/hooks.ts'
