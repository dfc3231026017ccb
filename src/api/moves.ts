/** One listener as a process that may take connections for it. */
export interface ConnectionTaker {
  /** True if it takes a connection now, and is the process that has what that place names. */
  isReady(place: string): boolean
  /** Takes a connection as one that it has accepted. `moves` says how often it was given away. */
  take(handle: object, moves: number): void
}

/** Leave to give connections to another process. It holds for a moment. */
export interface MovePermit {
  /** Gives a connection away, which this process must not read any more. Resolves once it is there, or closed. */
  give(handle: object, moves: number): Promise<void>
}

/** Ways of an idle connection to another process of the machine, where the conversation of its client is. */
export interface Moves {
  /** Asks if the process of a place takes connections of a listener now; undefined where it does not. */
  ask(place: string, listener: string): Promise<MovePermit | undefined>
  /** Has others give connections to a listener; returns the way to end that. */
  join(listener: string, taker: ConnectionTaker): () => void
}
