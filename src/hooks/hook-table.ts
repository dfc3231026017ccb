import type { ListingReader } from '../api/catalog-view.ts'
import type { CallPhase } from '../api/exchange.ts'
import type { HookTaps } from './hook-taps.ts'

export type HookName = keyof HookTaps

/** Way in which a hook runs its taps and uses what they return. */
export type HookKind = 'sync' | 'syncBail' | 'syncWaterfall' | 'async' | 'asyncBail' | 'asyncWaterfall'

interface HookRow {
  readonly kind: HookKind
  /** Runs in reverse order, ties included, so that a plugin wraps what it opened. */
  readonly mirrored?: boolean
  /** Selector of taps: the `methods` or `listeners` a tap names, or the key it was tapped `for`. */
  readonly by?: 'method' | 'listener' | 'key'
  /** For how long a tap may keep everybody waiting: `short` is configured, `person` is for what may wait for one, or for a call. */
  readonly patience?: 'short' | 'person'
  /** One tap's failure is logged and the others still run. */
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

/** Stages of a hook, in the order in which they run. */
export const STAGES = ['trace', 'identify', 'limit', 'normal', 'policy', 'transform'] as const
/** When a tap runs among the others of its hook. */
export type Stage = (typeof STAGES)[number]

/** When a tap runs, and for what. */
export interface TapOptions {
  /** Default `normal`. */
  readonly stage?: Stage
  /** Plugins whose taps of the same hook must run after this one. */
  readonly before?: string | readonly string[]
  /** Methods the tap cares about; on all others it costs nothing. Hooks of the pipeline only. */
  readonly methods?: readonly string[]
  /**
   * The tap is a rule about resources: URIs that have no canonical form are refused, unless a server lists them. `request`,
   * `route` and `catalog` only.
   */
  readonly checksUris?: boolean
  /**
   * The tap may ask the client (`exchange.ask`) before it passes a call on: then a modern client's calls are held while it
   * thinks, also where their server would never ask. `dispatch` only.
   */
  readonly asks?: boolean
  /**
   * The tap may make calls of its own (`exchange.callTool`) before it answers: it has as long as `dispatch` has, and not
   * `hooks.timeout`. `request` only.
   */
  readonly calls?: boolean
  /** Phase that the time counts as which the tap takes of a call: see `exchange.times`. `dispatch` and `request` only. */
  readonly phase?: Exclude<CallPhase, 'before' | 'upstream' | 'client' | 'after'>
  /** The tap reads `exchange.times`: only then is the way of calls timed. `settled` only. */
  readonly timed?: boolean
  /**
   * Class of a reader, as a text of at most 256 characters: readers of one class are shown one list. `listing` only, and there
   * each tap has one.
   */
  readonly readers?: (reader: ListingReader) => string
  /** Listeners the tap cares about; the others are as if it were not there. `authenticate` only. */
  readonly listeners?: readonly string[]
  /** The verb changes nothing and only looks, so that an audit has no line of it. `control` only. */
  readonly readOnly?: boolean
}
