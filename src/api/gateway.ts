import type { JsonObject } from '../protocol/json/json.ts'
import type { Load } from './plugin.ts'
import type { LoadedConfig, Problem } from '../config/index.ts'
import type {
  Clock,
  Log,
  LogLine,
  Notification,
  Payload,
  RpcError,
  UpstreamLogs,
  UpstreamState,
  UpstreamStatus,
} from './index.ts'
import type { GatewayError } from '../errors/errors.ts'
import type { Plugin } from '../plugin.ts'

import type { Kind } from '../protocol/methods.ts'

/** `createGateway` options other than the configuration. */
export interface GatewayOptions {
  /** Base for relative paths in a plain configuration object. Default: the working directory. */
  readonly directory?: string
  /**
   * Plugins given as objects, set up after the configured ones, in this order. One with the name of a built-in plugin
   * takes its place.
   */
  readonly plugins?: readonly Plugin<never>[]
  /** Default: structured lines on stderr, by the `log` section. */
  readonly log?: Log
  /** Variables that children may inherit. Default: only those that the configuration names. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Default: the system's monotonic clock. */
  readonly clock?: Clock
  /** Loads the configuration for a reload without one. */
  readonly load?: () => Promise<LoadedConfig | JsonObject>
  /** Directory for saved server descriptions, unless the configuration sets `state`. Default: nothing is saved. */
  readonly state?: string | undefined
  /** True to ignore the state of earlier runs. Default false. */
  readonly fresh?: boolean
  /**
   * True for a gateway of a single command: it saves nothing, and shares only state such as logins. Default false.
   */
  readonly ephemeral?: boolean
}

/** Names added, removed, changed and kept. */
export interface NameChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  readonly kept: readonly string[]
}

/** Changes made by a reload. */
export interface ConfigChanges {
  /** Kept upstreams keep their processes and connections. */
  readonly upstreams: NameChanges
  /** Kept listeners keep their address and connections. */
  readonly listeners: NameChanges
  /** Other changed top-level keys. */
  readonly settings: readonly string[]
}

/** Events for `Gateway.on`. */
export interface GatewayEvents {
  /** An upstream changed its state. Read `upstreams` after `reloaded`, as states may differ. */
  readonly state: { readonly upstream: string; readonly state: UpstreamState; readonly problem?: string }
  /** A new configuration is active. */
  readonly reloaded: { readonly source: LoadedConfig; readonly changes: ConfigChanges }
  /** A configuration was refused; the previous one stays active. */
  readonly refused: { readonly error: GatewayError }
  /** Upstream stderr line. */
  readonly log: { readonly upstream: string; readonly line: LogLine }
}

/** An exposed name and its owner. */
export interface CatalogRow {
  readonly kind: Kind
  readonly name: string
  readonly upstream: string
  readonly original: string
  readonly description?: string
}

/** A name that is hidden because another upstream owns it. */
export interface WithheldRow extends CatalogRow {
  readonly owner: string
}

/** Description of a running gateway, without secrets. */
export interface Inspection {
  /** `eras`: limits for modern clients. `label`: header that lifts them. */
  readonly listeners: readonly { name: string; type: string; url?: string; eras?: string; label?: string }[]
  /** Process load, if the gateway runs. */
  readonly load?: Load
  readonly upstreams: readonly UpstreamStatus[]
  readonly plugins: readonly { name: string; from: string }[]
  /** Plugins on each tapped hook, in run order. */
  readonly hooks: Readonly<
    Record<string, readonly { plugin: string; stage: string; methods?: readonly string[]; key?: string }[]>
  >
  readonly catalog: readonly CatalogRow[]
  readonly withheld: readonly WithheldRow[]
  /** Rules for tools and prompts that no server lists. */
  readonly unmatched: readonly Problem[]
}

/** An in-process client; its requests take the full pipeline. */
export interface ClientConnection {
  /**
   * Sends one request and resolves with its result.
   * @throws RpcFailure when the answer is an error.
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>
  /** Like `request`, but returns the unparsed result. */
  raw(method: string, params?: JsonObject, options?: RequestOptions): Promise<Payload>
  close(): void
}

export interface RequestOptions {
  readonly onNotification?: (notification: Notification) => void
  readonly signal?: AbortSignal
}

/** In-process client name and version. */
export interface ConnectOptions {
  readonly client?: { readonly name: string; readonly version: string }
  /** Caller, such as `key:ci`; default: anonymous. */
  readonly as?: string | undefined
}

/** Controls one configured server. */
export interface UpstreamHandle {
  readonly name: string
  status(): UpstreamStatus
  /** Recent output of its processes; undefined without a local process. */
  readonly logs: UpstreamLogs | undefined
  /** Resolves when the attempt has succeeded or failed. */
  start(): Promise<void>
  stop(): Promise<void>
  restart(): Promise<void>
}

/** Rejection of a `ClientConnection` request that was answered with an error. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure'
  readonly error: RpcError

  constructor(error: RpcError) {
    super(error.message)
    this.error = error
  }
}

export type { Load, UpstreamStatus }
