import {
  type Config,
  type ListenerConfig,
  type LoadedConfig,
  markedAsOwned,
  type UpstreamConfig,
} from '../config/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { builtins } from '../gateway/builtins.ts'
import type { Plugin } from '../plugin.ts'

/**
 * True if one process has this server for all workers: a process of ours, one that keeps callers apart by connection,
 * one of which a plugin says so, or one that may get fewer calls at a time than there are workers. All others are dialled by
 * each worker.
 */
export function isOwned(spec: UpstreamConfig, count: number): boolean {
  if (builtins.some(plugin => plugin.ownership?.(spec) !== undefined)) return true
  if (spec.type === 'stdio' || spec.isolation !== 'shared') return true
  if ('forwardHeaders' in spec && (spec.forwardHeaders?.length ?? 0) > 0) return true
  const { concurrency } = spec.limits
  return concurrency > 0 && concurrency < count
}

/** True for the name of an upstream that a plugin adds to the owner's process, too. */
export function isAddedToOwner(name: string): boolean {
  return builtins.some(
    ({ scope, claims }) => scope === 'shared' && claims?.adds?.upstreams?.includes(name) === true,
  )
}

/** True where the owner of a server exchanges the tokens of callers for others, and so must be told them. */
export function ownerNeedsTokens(spec: UpstreamConfig): boolean {
  return builtins.some(plugin => plugin.ownership?.(spec)?.tokens === true)
}

/** Sections that the processes of one gateway have where the file has none, by name. */
export type Sections = Readonly<Record<string, unknown>>

/** Makes the sections that processes of one machine need of each other, once for as long as they are together. */
export function sectionsAmong(directory: string): Sections {
  return Object.fromEntries(
    builtins.flatMap(({ claims, amongProcesses }) =>
      claims?.section === undefined || amongProcesses === undefined
        ? []
        : [[claims.section, amongProcesses({ directory })]],
    ),
  )
}

/** Configuration of the owner: the servers that all workers share, and nothing that clients see. */
export function forOwner(
  { config, ...loaded }: LoadedConfig,
  count: number,
  sections: Sections = {},
): LoadedConfig {
  const upstreams = Object.entries(config.upstreams).filter(([, spec]) => isOwned(spec, count))
  return {
    ...loaded,
    config: { ...sections, ...config, listeners: {}, plugins: {}, upstreams: Object.fromEntries(upstreams) },
  }
}

/** Keeps the upstreams of the former configuration: workers that have not heard of the change may still call them. */
export function withThoseOf(next: LoadedConfig, before: LoadedConfig): LoadedConfig {
  const isKept = (name: string): boolean => Object.hasOwn(next.config.upstreams, name)
  if (Object.keys(before.config.upstreams).every(isKept)) return next
  const upstreams = { ...before.config.upstreams, ...next.config.upstreams }
  return { ...next, config: { ...next.config, upstreams } }
}

/** Configuration of one worker. */
export interface Share {
  readonly loaded: LoadedConfig
  /** The servers that it reaches through their owner. */
  readonly owned: readonly string[]
}

/** One of the workers, in what it differs from the others. */
interface OneWorker {
  readonly number: number
  /** True where a client on a pipe is this one's. */
  readonly hasPipe: boolean
  readonly sections: Sections
  /** Directory of the whole gateway for what outlives it. */
  readonly state?: string | undefined
}

const FIRST: OneWorker = { number: 1, hasPipe: true, sections: {} }

/** Configuration that one worker runs: all of it, with its share of what is bounded. */
export function forWorker(
  { config, ...loaded }: LoadedConfig,
  count: number,
  { number, hasPipe, sections, state }: OneWorker = FIRST,
): Share {
  const own = Object.entries(config.listeners).filter(
    ([, { type }]) => type === 'http' || (number === 1 && (hasPipe || type !== 'stdio')),
  )
  const listeners = mapped(Object.fromEntries(own), spec => listenerShare(spec, count))
  const upstreams = mapped(config.upstreams, spec =>
    isOwned(spec, count) ? leftToOwner(spec) : upstreamShare(spec, count),
  )
  const owned = Object.keys(config.upstreams).filter(name => isOwnedBy(config, name, count))
  const shares = sharesOf(config, count, number, state).flatMap(({ section, share }) =>
    'options' in share ? [[section, share.options]] : [],
  )
  const parts = Object.fromEntries(shares) as Sections
  const divided = { ...sections, ...config, listeners, upstreams, ...parts, state: false } as Config
  return { loaded: { ...loaded, config: divided }, owned }
}

function isOwnedBy({ upstreams }: Config, name: string, count: number): boolean {
  const spec = upstreams[name]
  return spec !== undefined && isOwned(spec, count)
}

/** True where a client on stdin and stdout is listened to. */
export function hasPipe({ listeners }: Config): boolean {
  return Object.values(listeners).some(({ type }) => type === 'stdio')
}

/** @throws GatewayError GW_WORKERS when something in it would not be right with several workers. */
export function checkWorkers(config: Config, count: number): void {
  const why = problems(config, count)
  if (why.length > 0) throw gatewayError('GW_WORKERS', { workers: count, why: why.join('; ') })
}

function problems(config: Config, count: number): string[] {
  return [
    ...Object.entries(config.listeners).flatMap(([name, spec]) => listenerProblems(name, spec, count)),
    ...sharesOf(config, count).flatMap(({ share }) => ('refused' in share ? [share.refused] : [])),
  ]
}

function listenerProblems(name: string, spec: ListenerConfig, count: number): string[] {
  // The first worker has them.
  if (spec.type !== 'http') return []
  return SHARED_OUT.filter(key => spec.limits[key] < count).map(
    key => `listeners.${name}.limits.${key} is less than one for each worker`,
  )
}

/** Results of the plugins' `share` for their sections. */
function sharesOf(
  config: Config,
  count: number,
  number = 1,
  state?: string,
): { section: string; share: ReturnType<NonNullable<Plugin['share']>> }[] {
  return builtins.flatMap(plugin => {
    const { section } = plugin.claims ?? {}
    const options = section === undefined ? undefined : config[section]
    const share = options === undefined ? undefined : plugin.share?.(options as never, count, number, state)
    return section === undefined || share === undefined ? [] : [{ section, share }]
  })
}

/** Bounds of a listener that hold for all workers together, as each has its part of them. */
const SHARED_OUT = ['sessions', 'sessionsPerPrincipal', 'connections'] as const

function listenerShare(spec: ListenerConfig, count: number): ListenerConfig {
  if (spec.type !== 'http') return spec
  const limits: { -readonly [K in keyof typeof spec.limits]: (typeof spec.limits)[K] } = { ...spec.limits }
  for (const key of SHARED_OUT) limits[key] = Math.floor(limits[key] / count)
  return { ...spec, limits }
}

function upstreamShare(spec: UpstreamConfig, count: number): UpstreamConfig {
  const { concurrency, queue } = spec.limits
  const limits = {
    ...spec.limits,
    concurrency: Math.floor(concurrency / count),
    queue: Math.floor(queue / count),
  }
  return { ...spec, limits }
}

/** Its deadline, turns, breaker and retries are with the owner: they hold over all workers there. */
function leftToOwner(spec: UpstreamConfig): UpstreamConfig {
  const tools = spec.tools === undefined ? {} : { tools: { ...spec.tools, timeout: {} } }
  const limits = { ...spec.limits, concurrency: 0 }
  // A reload that changes with whom it is makes another of it.
  return markedAsOwned({ ...spec, ...tools, timeout: 0, limits, breaker: false, retry: false })
}

function mapped<T>(entries: Readonly<Record<string, T>>, change: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).map(([name, value]) => [name, change(value)]))
}
