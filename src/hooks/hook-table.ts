import type { ListingReader } from '../api/catalog-view.ts'
import type { HookTaps } from './hook-taps.ts'

export type HookName = keyof HookTaps

/** How a hook runs its taps and uses their results. */
export type HookKind = 'sync' | 'syncBail' | 'syncWaterfall' | 'async' | 'asyncBail' | 'asyncWaterfall'

interface HookRow {
  readonly kind: HookKind
  /** Runs in reverse order, so that a plugin wraps later ones. */
  readonly mirrored?: boolean
  /** How taps are selected: by `methods`, `listeners`, or key. */
  readonly by?: 'method' | 'listener' | 'key'
  /** Timeout of a tap: `short` is configured, `person` allows for a person or a call. */
  readonly patience?: 'short' | 'person'
  /** A tap's failure is logged, and the others still run. */
  readonly safe?: boolean
}

/** All hooks, in pipeline order. */
export const HOOKS: Readonly<Record<HookName, HookRow>> = {
  configure: { kind: 'syncWaterfall' },
  createUpstream: { kind: 'syncBail', by: 'key' },
  authorize: { kind: 'syncBail' },
  createListener: { kind: 'syncBail', by: 'key' },
  services: { kind: 'syncWaterfall' },
  dispatch: { kind: 'syncWaterfall', mirrored: true, patience: 'person' },
  ready: { kind: 'async', patience: 'short' },
  stopping: { kind: 'sync', safe: true },
  authenticate: { kind: 'asyncBail', by: 'listener', patience: 'short' },
  http: { kind: 'asyncBail', by: 'key', patience: 'person' },
  session: { kind: 'async', patience: 'short' },
  request: { kind: 'asyncBail', by: 'method', patience: 'short' },
  route: { kind: 'syncBail', by: 'method' },
  call: { kind: 'sync', by: 'method' },
  response: { kind: 'asyncWaterfall', by: 'method', mirrored: true, patience: 'short' },
  settled: { kind: 'sync', by: 'method', safe: true },
  catalog: { kind: 'syncWaterfall' },
  listing: { kind: 'syncWaterfall' },
  instructions: { kind: 'syncWaterfall' },
  notification: { kind: 'syncBail', by: 'method' },
  clientRequest: { kind: 'asyncBail', by: 'method', patience: 'person' },
  approval: { kind: 'asyncBail', patience: 'person' },
  sessionEnd: { kind: 'sync', safe: true },
  upstreamState: { kind: 'sync', safe: true },
  auditEvent: { kind: 'sync', safe: true },
  status: { kind: 'syncWaterfall' },
  health: { kind: 'syncWaterfall' },
  metrics: { kind: 'syncWaterfall' },
  control: { kind: 'asyncBail', by: 'key', patience: 'short' },
  explain: { kind: 'syncWaterfall' },
  close: { kind: 'async', mirrored: true, safe: true, patience: 'short' },
}

/** Stages of a hook, in run order. */
export const STAGES = ['unwrap', 'trace', 'identify', 'limit', 'normal', 'policy', 'transform'] as const
/** Tap position within its hook. */
export type Stage = (typeof STAGES)[number]

/** Tap order and selectors. */
export interface TapOptions {
  /** Default: `normal`. */
  readonly stage?: Stage
  /** Plugins whose taps of the same hook must run after this one. */
  readonly before?: string | readonly string[]
  /** Methods of the tap; other methods cost nothing. Pipeline hooks only. */
  readonly methods?: readonly string[]
  /**
   * The tap is a rule about resources: URIs without a canonical form are refused unless a server lists them.
   * `request`, `route` and `catalog` only.
   */
  readonly checksUris?: boolean
  /** The tap is no rule: it only renames resources, for all callers alike. `catalog` only. */
  readonly onlyRenames?: boolean
  /**
   * The tap may send client requests (`exchange.ask`) before it calls `next`; meanwhile a modern client's call is
   * parked. `dispatch` only.
   */
  readonly asks?: boolean
  /**
   * The tap may make calls (`exchange.callTool`) and has the `dispatch` timeout instead of `hooks.timeout`. `request`
   * only.
   */
  readonly calls?: boolean
  /** The tap may set `call.patience`, so that clients see the task capability. `call` only. */
  readonly setsPatience?: boolean
  /** The tap reads `exchange.times`; calls are timed only if a tap does. `settled` only. */
  readonly timed?: boolean
  /**
   * Returns the class of a reader, at most 256 characters: readers in one class share a list. Required for `listing`,
   * and only valid there.
   */
  readonly readers?: (reader: ListingReader) => string
  /** Listeners of the tap. `authenticate` only. */
  readonly listeners?: readonly string[]
  /** The verb is read-only, so it is not audited. `control` only. */
  readonly readOnly?: boolean
}
