import type { ListingReader } from '../api/catalog-view.ts'
import type { CallPhase } from '../api/exchange.ts'
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

/** Every hook of the gateway, in the order of the pipeline. */
export const HOOKS: Readonly<Record<HookName, HookRow>> = {
  configure: { kind: 'syncWaterfall' },
  createUpstream: { kind: 'syncBail', by: 'key' },
  authorize: { kind: 'syncBail' },
  starting: { kind: 'syncBail' },
  createListener: { kind: 'syncBail', by: 'key' },
  peers: { kind: 'syncBail' },
  sharedStore: { kind: 'syncBail' },
  dispatch: { kind: 'syncWaterfall', mirrored: true, patience: 'person' },
  ready: { kind: 'async', patience: 'short' },
  listening: { kind: 'sync', safe: true },
  admit: { kind: 'syncBail' },
  stopping: { kind: 'sync', safe: true },
  authenticate: { kind: 'asyncBail', by: 'listener', patience: 'short' },
  refused: { kind: 'sync', safe: true },
  choice: { kind: 'syncBail', by: 'key' },
  http: { kind: 'asyncBail', by: 'key', patience: 'person' },
  session: { kind: 'async', patience: 'short' },
  unwrap: { kind: 'asyncBail', by: 'method', patience: 'short' },
  request: { kind: 'asyncBail', by: 'method', patience: 'short' },
  route: { kind: 'syncBail', by: 'method' },
  call: { kind: 'sync', by: 'method' },
  patience: { kind: 'syncWaterfall', by: 'method' },
  response: { kind: 'asyncWaterfall', by: 'method', mirrored: true, patience: 'short' },
  settled: { kind: 'sync', by: 'method', safe: true },
  catalog: { kind: 'syncWaterfall' },
  listing: { kind: 'syncWaterfall' },
  clientLimits: { kind: 'syncWaterfall' },
  rank: { kind: 'asyncBail', patience: 'short' },
  instructions: { kind: 'syncWaterfall' },
  notification: { kind: 'syncBail', by: 'method' },
  clientRequest: { kind: 'asyncBail', by: 'method', patience: 'person' },
  approval: { kind: 'asyncBail', patience: 'person' },
  sessionEnd: { kind: 'sync', mirrored: true, safe: true },
  upstreamState: { kind: 'sync', safe: true },
  auditEvent: { kind: 'sync', safe: true },
  status: { kind: 'syncWaterfall' },
  health: { kind: 'syncWaterfall' },
  metrics: { kind: 'syncWaterfall' },
  control: { kind: 'asyncBail', by: 'key', patience: 'short' },
  explain: { kind: 'syncWaterfall' },
  resolveCaller: { kind: 'syncBail' },
  load: { kind: 'syncWaterfall' },
  close: { kind: 'async', mirrored: true, safe: true, patience: 'short' },
}

/** Stages of a hook, in run order. */
export const STAGES = ['trace', 'identify', 'limit', 'normal', 'policy', 'transform'] as const
/** When a tap runs among those of its hook. */
export type Stage = (typeof STAGES)[number]

/** When and for what a tap runs. */
export interface TapOptions {
  /** Default `normal`. */
  readonly stage?: Stage
  /** Plugins whose taps of the same hook must run after this one. */
  readonly before?: string | readonly string[]
  /** Methods of the tap; it costs nothing for others. Pipeline hooks only. */
  readonly methods?: readonly string[]
  /**
   * The tap is a rule about resources: URIs without a canonical form are refused, unless a server lists them.
   * `request`, `route` and `catalog` only.
   */
  readonly checksUris?: boolean
  /**
   * The tap may ask the client (`exchange.ask`) before it calls `next`: a modern client's calls are then held
   * meanwhile. `dispatch` only.
   */
  readonly asks?: boolean
  /**
   * The tap may make calls (`exchange.callTool`): it has the timeout of `dispatch` instead of `hooks.timeout`.
   * `request` only.
   */
  readonly calls?: boolean
  /** Phase that the tap's time counts as, see `exchange.times`. `dispatch` and `request` only. */
  readonly phase?: Exclude<CallPhase, 'before' | 'upstream' | 'client' | 'after'>
  /** The tap reads `exchange.times`: calls are timed only then. `settled` only. */
  readonly timed?: boolean
  /**
   * Returns the class of a reader, at most 256 characters: readers of one class see one list. `listing` only, and
   * required there.
   */
  readonly readers?: (reader: ListingReader) => string
  /** Listeners of the tap. `authenticate` only. */
  readonly listeners?: readonly string[]
  /** The verb only reads, so that it is not audited. `control` only. */
  readonly readOnly?: boolean
}
