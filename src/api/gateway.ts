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

/** Options of `createGateway` besides the configuration. */
export interface GatewayOptions {
  /** Base of relative paths in a plain configuration object. Default: the working directory. */
  readonly directory?: string
  /** Plugins given as objects, set up after the configured ones, in this order. */
  readonly plugins?: readonly Plugin<never>[]
  /** Default: structured lines on stderr, as `log` in the configuration says. */
  readonly log?: Log
  /** Variables that children may inherit. Default: none but what the configuration names and finds here. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Time as all parts see it. Default: the system's monotonic clock. */
  readonly clock?: Clock
  /** Source of the configuration for a reload that names none. */
  readonly load?: () => Promise<LoadedConfig | JsonObject>
  /**
   * A directory where what is known of the servers outlives this process, unless the configuration names another one or
   * says `state: false`. Default: nothing outlives it.
   */
  readonly state?: string | undefined
  /** True to begin without what an earlier run has left there. Default false. */
  readonly fresh?: boolean
  /**
   * True for a gateway that a command has beside those that serve: it saves nothing, and of what they keep it has only what
   * plugins share, such as logins. Default false.
   */
  readonly ephemeral?: boolean
}

/** Names that came, went, became others, or stayed as they were. */
export interface NameChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  readonly kept: readonly string[]
}

/** Changes made by a reload. */
export interface ConfigChanges {
  /** Those that are kept have kept their processes and connections. */
  readonly upstreams: NameChanges
  /** Those that are kept have kept their address and whoever is connected. */
  readonly listeners: NameChanges
  /** The other top-level keys that differ. */
  readonly settings: readonly string[]
}

/** Events of a gateway, for `on`. */
export interface GatewayEvents {
  /** An upstream became another state. After `reloaded` their states may be others too: `upstreams` has them. */
  readonly state: { readonly upstream: string; readonly state: UpstreamState; readonly problem?: string }
  /** Another configuration is in force. */
  readonly reloaded: { readonly source: LoadedConfig; readonly changes: ConfigChanges }
  /** A configuration was refused; the one before stays. */
  readonly refused: { readonly error: GatewayError }
  /** A line that an upstream's process wrote beside the protocol. */
  readonly log: { readonly upstream: string; readonly line: LogLine }
}

/** One name that clients see, and who owns it. */
export interface CatalogRow {
  readonly kind: Kind
  readonly name: string
  readonly upstream: string
  readonly original: string
  readonly description?: string
}

/** A name that clients do not see because another upstream owns it. */
export interface WithheldRow extends CatalogRow {
  readonly owner: string
}

/** All there is to know of a running gateway, as plain data without secrets. */
export interface Inspection {
  /** `eras` says what modern clients get where that is not everything, and `label` the header that gives them more. */
  readonly listeners: readonly { name: string; type: string; url?: string; eras?: string; label?: string }[]
  /** Work of the process; of a gateway that runs. */
  readonly load?: Load
  readonly upstreams: readonly UpstreamStatus[]
  readonly plugins: readonly { name: string; from: string }[]
  /** The plugins on each tapped hook, in the order they run. */
  readonly hooks: Readonly<
    Record<string, readonly { plugin: string; stage: string; methods?: readonly string[]; key?: string }[]>
  >
  readonly catalog: readonly CatalogRow[]
  readonly withheld: readonly WithheldRow[]
  /** Rules of the configuration for tools and prompts that no server lists, as far as their lists are known. */
  readonly unmatched: readonly Problem[]
}

/** A client inside the process: it takes the same way as any other. */
export interface ClientConnection {
  /**
   * Sends one request and resolves with its result.
   * @throws RpcFailure when the answer is an error.
   */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject>
  /** The same, without parsing: the result as bytes. */
  raw(method: string, params?: JsonObject, options?: RequestOptions): Promise<Payload>
  close(): void
}

export interface RequestOptions {
  readonly onNotification?: (notification: Notification) => void
  readonly signal?: AbortSignal
}

/** Name and version that an in-process client gives. */
export interface ConnectOptions {
  readonly client?: { readonly name: string; readonly version: string }
}

/** One configured server, to watch and steer. */
export interface UpstreamHandle {
  readonly name: string
  status(): UpstreamStatus
  /** Latest output of its processes; undefined where there is no process of ours. */
  readonly logs: UpstreamLogs | undefined
  /** Resolves when the attempt has ended, well or badly. */
  start(): Promise<void>
  stop(): Promise<void>
  restart(): Promise<void>
}

/** Error with which a request through a `Connection` rejects when its answer is one. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure'
  readonly error: RpcError

  constructor(error: RpcError) {
    super(error.message)
    this.error = error
  }
}

export type { Load, UpstreamStatus }
