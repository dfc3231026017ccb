import type { Principal } from './exchange.ts'
import type { Refusal } from './gate.ts'
import type { PeerDirectory } from './listener.ts'
import type { ClientLimits, Load } from './plugin.ts'
import type { SharedStore } from '../util/storage/shared-store.ts'

/** Objects that plugins provide to the gateway and to each other. */
export interface Services {
  /** Peer processes that serve the same gateway. */
  readonly peers?: PeerDirectory
  /** Store that this process shares with its peers. */
  readonly store?: SharedStore
  readonly admission?: Admission
  /** Finds the caller that the owner names in a command. */
  readonly findCaller?: (name: string) => Principal | undefined
  /** Returns a client program's limits by its unverified name. */
  readonly getClientLimits?: (name: string) => ClientLimits
}

/** Protects the process from overload. */
export interface Admission {
  /**
   * Decides about a request before it is read: a refusal answers it, and `close` closes the connection after its
   * answer. Over HTTP it gets the path.
   */
  readonly admit: (listener: string, path?: string) => Refusal | 'close' | undefined
  /** Describes the process load, for `gateway ps`. */
  readonly getLoad?: () => Partial<Load>
}
