/**
 * Memory that several processes of one gateway share: what must hold for all of them is here, and nowhere else. Every verb is one
 * step that nothing comes between. While it does not answer every verb rejects with `GW_SHARED_AWAY`, soon, and nothing is sent
 * later. Keys and topics are the plugin's own: no other plugin can reach them.
 */
export interface SharedStore {
  /** False while it does not answer: ask it all the same, as only that finds out that it is back. */
  readonly isUp: boolean
  /** Number of processes that share it, this one among them, as far as is known. */
  readonly processCount: number

  get(key: string): Promise<string | undefined>
  /** Keeps a value for so long; false where `when` says otherwise, and then all is as before. */
  put(key: string, value: string, options: PutOptions): Promise<boolean>
  /** Gets the value and deletes it: of several that ask, one gets it. */
  take(key: string): Promise<string | undefined>
  /** Deletes the value, with `is` only where it is that one; false where it was not there. */
  delete(key: string, is?: string): Promise<boolean>

  /** Takes of what is allowed in any so many milliseconds. */
  takePermits(key: string, request: PermitRequest): Promise<Permits>
  /** Adds to a number that has an end and may have a bound. Negative numbers give back. */
  addToCounter(key: string, request: CountRequest): Promise<CountResult>

  /** Tells all that have subscribed, this process among them. It may get lost: what must not be missed is counted or kept, too. */
  publish(topic: string, text: string): Promise<void>
  /** Hears what is published. `missed` is called when something may have been lost, as after a new connection. Returns the end of it. */
  subscribe(topic: string, heard: (text: string) => void, missed?: () => void): () => void

  /** Text that only these processes can read, and that nobody else can make; `boundTo`, such as its key, must be the same to open it. */
  seal(text: string, boundTo: string): string
  /** The text; undefined for what these processes have not sealed for the same. */
  open(sealed: string, boundTo: string): string | undefined
}

/** Time and condition of a value that is kept. */
export interface PutOptions {
  /** Time in milliseconds after which it is no more. */
  readonly expiresInMs: number
  /** Only where there is no value yet, or where the value is this one. */
  readonly when?: 'absent' | { readonly is: string } | undefined
}

/** Use of a limit such as 120 in any 60 seconds. */
export interface PermitRequest {
  readonly max: number
  readonly windowMs: number
  /** Permits needed now. */
  readonly count: number
  /** Permits that were got before and not used: they are given back first. */
  readonly unused?: number | undefined
  /** Permits on top of those, for later: given while others cannot be short of them, a quarter of what is left at most. */
  readonly prefetch?: number | undefined
  /** Permits that were used without asking, as the store was away: counted whatever is left. */
  readonly owed?: number | undefined
}

/** Permits that were got, and until when. */
export interface Permits {
  readonly granted: number
  /**
   * Time in milliseconds, from before they were asked for, within which permits must be used: what is used later might be too many
   * in some window.
   */
  readonly validMs: number
  /** Milliseconds until there may be more; 0 where there are. */
  readonly waitMs: number
}

/** Addition to a number. */
export interface CountRequest {
  /** Number to add; negative gives back. */
  readonly delta: number
  /** Time in milliseconds after which it begins anew, from its first count. */
  readonly expiresInMs: number
  /** Bound of the number: what goes beyond is not added. */
  readonly max?: number | undefined
  /** More to add on top, for later: a quarter of what is left at most. */
  readonly prefetch?: number | undefined
  /** Number that it begins with where it is not there: what it is known to have reached, for a store that may have forgotten. */
  readonly initial?: number | undefined
}

/** Number as it is after an addition. */
export interface CountResult {
  /** Number that was added. */
  readonly added: number
  /** Number that it is now. */
  readonly total: number
}

/** Slices of a window: what is taken in one is forgotten together. */
const SLICES = 60

/** Length of a slice in milliseconds; a permit is good for as long. */
export function getSliceMs(ms: number): number {
  return Math.max(1, Math.ceil(ms / SLICES))
}

/**
 * Number of slices that count. One that is older is out of every window in which one of its permits may have been used.
 */
export function countSlices(ms: number): number {
  const slice = getSliceMs(ms)
  return Math.ceil((ms + slice) / slice) + 1
}
