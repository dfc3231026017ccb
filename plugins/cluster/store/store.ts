/** Reply of a script. */
export type Reply = string | number | null | readonly Reply[]

/** One step in Redis that nothing comes between. */
export interface Lua {
  readonly name: string
  readonly lua: string
}

/** The same, for the memory of one process in JavaScript, too. */
export interface Script extends Lua {
  run(memory: Tables, keys: readonly string[], args: readonly string[]): Reply
}

/** Memory as a script sees it. Times are in milliseconds; what has run out is not there. */
export interface Tables {
  readonly now: number
  text(key: string): string | undefined
  setText(key: string, value: string, ms: number): void
  fields(key: string): Map<string, string> | undefined
  setFields(key: string, fields: Readonly<Record<string, string>>): void
  /** Scores by member; never runs out. */
  scores(key: string): Map<string, number>
  expire(key: string, ms: number): void
  delete(key: string): void
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
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply>
  close(): void
}

/** A store that runs scripts for plugins, too, and passes on what they tell each other. */
export interface SharingStore extends Store {
  run(script: Lua, keys: readonly string[], args: readonly string[]): Promise<Reply>
  subscribe(channel: string, heard: (text: string) => void, missed?: () => void): () => void
}
