import type { Config, ListenerConfig } from '../config/config.gen.ts'
import type { Gate } from './gate.ts'
import type { Neighbours } from './neighbours.ts'
import type { Clock, Log } from './plugin.ts'

/** An entrance for clients. */
export interface Listener {
  readonly name: string
  readonly type: string
  /** URL at which it can be reached, after `start`; undefined for a pipe. */
  readonly url: string | undefined
  /** Bytes that are held for its clients now. */
  readonly held?: number
  /** Resolves when a listener that has only one client has lost it. */
  readonly ended?: Promise<void>
  start(): Promise<void>
  /**
   * Takes over another spec while it listens, with all who are connected; false when another one must take its place.
   * @throws GatewayError when the spec is not fit for it; nothing has changed then.
   */
  adapt?(spec: ListenerConfig, config: Config, authenticates: boolean): boolean
  /** Stops accepting, lets what is open end within `graceMs`, then cuts it. */
  stop(graceMs: number): Promise<void>
  /** Asks again whose the open conversations are, and ends those that are nobody's any more. */
  recheck?(): void
}

/** Dependencies of a listener: the gate that its requests go to, and what is around it. */
export interface ListenerContext {
  readonly name: string
  /** Directory that relative paths of the configuration are relative to. */
  readonly directory: string
  readonly log: Log
  readonly clock: Clock
  readonly gate: Gate
  /** True if a plugin finds out who its clients are. */
  readonly authenticates: boolean
  /** The other processes that have clients of this one; absent where there are none. */
  readonly neighbours?: Neighbours | undefined
}
