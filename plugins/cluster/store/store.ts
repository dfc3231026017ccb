/** Reply of a script. */
export type Reply = string | number | null | readonly Reply[]

/** One step in Redis that nothing comes between. */
export interface Lua {
  readonly name: string
  readonly lua: string
}

/** Memory that all replicas share. Every verb rejects with GW_CLUSTER_AWAY while it cannot be reached, soon. */
export interface Store {
  readonly isUp: boolean
  /** Words with which it refused something of late, though it answers. */
  readonly refusal?: string | undefined
  /** Time of the clock at which it was reached anew: what it had before may be lost. */
  readonly upSince: number | undefined
  /** Never rejects: what cannot be reached now is tried again for as long as it is open. */
  connect(): Promise<void>
  /** The text of an entry of the directory, and no more of a longer one than its beginning. */
  get(key: string): Promise<string | undefined>
  run(script: Lua, keys: readonly string[], args: readonly string[]): Promise<Reply>
  /** Hears what replicas tell each other; returns the way to take it back. */
  subscribe(channel: string, heard: (text: string) => void, missed?: () => void): () => void
  close(): void
}
