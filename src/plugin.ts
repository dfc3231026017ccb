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
  Answer,
  AuditEvent,
  Clock,
  Exchange,
  HttpSide,
  SharedState,
  Log,
  Programs,
  Session,
} from './api/index.ts'
import type { Config } from './config/config.gen.ts'
import type { PluginHooks } from './hooks/hooks.ts'
import type { JsonObject } from './protocol/json/json.ts'
import { Payload } from './protocol/payload.ts'
import { rpcError } from './protocol/rpc-error.ts'

/** State of one plugin on one exchange or session, without a bag of strings. */
export interface Slot<K, T> {
  /** The state, made by the slot's `init` on first use. */
  get(owner: K): T
  set(owner: K, value: T): void
}

/** What `setup` gets. */
export interface PluginApi<Options = unknown> {
  /** The section's or `plugins.<name>.options`' value, validated against the plugin's schema. */
  readonly options: Options
  /** The whole configuration, frozen. */
  readonly config: Config
  /** The hooks; tapping ends when `setup` has returned. */
  readonly hooks: PluginHooks
  readonly log: Log
  readonly clock: Clock
  /** What relative paths of the configuration are relative to. */
  readonly directory: string
  /** Every file that the configuration was read from, the main one first: overlays, what it extends, what `${file:}` names. */
  readonly files: readonly string[]
  /** The text with every secret of the configuration replaced by `***`, also where it is encoded as base64, hex, or for a URL. */
  hide(text: string): string
  /** Gives the taps of `recorded` something that happened in this plugin and that an audit should have. */
  record(event: AuditEvent): void
  /** Runs programs as children of the gateway. */
  readonly programs: Programs
  /** Directory for what outlives this process, in files of the plugin's own; it may not exist yet. Undefined where nothing outlives it. */
  readonly state: string | undefined
  /** Absent where the gateway is one process, and for plugins that are not built in: each process has its own of those. */
  readonly sharedState?: SharedState | undefined
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
  /** First-party plugins only: the config keys that install it. */
  readonly claims?: {
    /** A top-level key. */
    readonly section?: keyof Config
    /** Keys of any upstream. */
    readonly upstream?: readonly string[]
    /** Installed whatever the config says. */
    readonly always?: boolean
  }
  /** JSON Schema (draft-07) of `options`; without one, anything goes. */
  readonly schema?: JsonObject
  /** Plugins that must be installed too, and are set up first. */
  readonly requires?: readonly string[]
  /** Reads its options once, prepares its look-ups, taps. A throw or rejection stops the start. */
  setup(api: PluginApi<Options>): void | Promise<void>
}

/** Gives a plugin its types without a cast. */
export function definePlugin<Options>(plugin: Plugin<Options>): Plugin<Options> {
  return plugin
}

/**
 * An answer that refuses. Use −32602 for what the caller did wrong; the range −32000…−32099 is the protocol's. With
 * `http` the response over HTTP has that status and those headers too, where it carries nothing else.
 */
export function refuse(code: number, message: string, data?: unknown, http?: HttpSide): Answer {
  const error = rpcError(code, message, data)
  return http === undefined ? { error } : { error, http }
}

/** An answer of the plugin's own making: the `result` of the method. */
export function answer(result: JsonObject): Answer {
  return { result: Payload.of(result) }
}

export {
  ANONYMOUS,
  authorizationKey,
  callers,
  callerKey,
  conversationKey,
  principalKey,
} from './api/principal.ts'
export { gatewayError, GatewayError, httpStatusOf, OWNER_ONLY, reasonOf } from './errors/errors.ts'
export { globs } from './util/globs.ts'
export { canonicalOr } from './protocol/uri.ts'
export { allowsUris, forbidsUris } from './protocol/resource-globs.ts'
export { parseDuration, parseSize } from './util/units.ts'
export { hasFailed, outcomeOf, OUTCOMES, type Outcome } from './api/outcome.ts'
export { Payload } from './protocol/payload.ts'
export { RPC } from './protocol/rpc-error.ts'
export { LISTS, METHODS, kindsChangedBy, type Kind } from './protocol/methods.ts'
export { isObject, type JsonObject } from './protocol/json/json.ts'
export { parseParams } from './protocol/parse-params.ts'
export type * from './api/index.ts'
export type {
  CacheConfig,
  CachePolicyConfig,
  CacheToolConfig,
  UpstreamCacheConfig,
} from './config/config.gen.ts'
export type { CatalogEntry, CatalogView } from './api/catalog-entry.ts'
export type { NotificationContext, Stage, TapOptions } from './hooks/kinds.ts'
export type { PluginHooks, Tappable, TappableMap } from './hooks/hooks.ts'
