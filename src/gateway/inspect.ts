import type { CatalogEntry } from '../api/catalog-entry.ts'
import type { CatalogRow, Inspection, UpstreamHandle } from '../api/gateway.ts'
import type { Listener, Upstream } from '../api/index.ts'
import type { Load } from '../api/plugin.ts'
import type { DescribedConfig, LoadedConfig } from '../config/index.ts'
import { describeConfig } from '../config/index.ts'
import { createOnlooker } from '../core/session.ts'
import { getUpstreamStatus } from '../core/health.ts'
import type { Graph } from '../core/graph-types.ts'
import type { View } from '../core/catalog/view.ts'
import type { HookName } from '../hooks/hook-table.ts'
import { HOOKS } from '../hooks/hook-table.ts'
import { describeEras, getOfferedEras } from '../listeners/http/listener-settings.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import type { Kind } from '../protocol/methods.ts'
import { KINDS } from '../protocol/methods.ts'
import { readOwnPackage } from '../util/version.ts'
import type { Generation } from './generation.ts'
import { findUnmatchedPatterns } from './check-tool-names.ts'

/**
 * Describes the running gateway as plain data. With `asks`, requests lists from upstreams as an anonymous client,
 * which starts them.
 */
export async function inspect(
  generation: Generation,
  listeners: readonly Listener[],
  fetchLists = true,
): Promise<Inspection> {
  const { graph, plugins } = generation
  const loaded = await Promise.all(
    (fetchLists ? KINDS : []).map(kind =>
      graph.catalog.load(kind, createOnlooker(readOwnPackage())).catch(() => undefined),
    ),
  )
  const views = loaded.filter(view => view !== undefined)
  return {
    listeners: listeners.map(({ name, type, url }) => ({
      ...{ name, type },
      ...(url === undefined ? {} : { url }),
      ...listLimitedEras(name, generation.loaded.config),
    })),
    ...(fetchLists ? { load: measureLoad(graph, listeners) } : {}),
    upstreams: [...graph.upstreams.values()].map(({ upstream }) => ({
      ...getUpstreamStatus(upstream, graph),
      offers: countEntries(upstream.name, views),
    })),
    plugins: plugins.map(({ plugin, from }) => ({ name: plugin.name, from })),
    hooks: listHookOrder(graph),
    catalog: views.flatMap(({ kind, entries }) => entries.map(entry => createCatalogRow(kind, entry))),
    withheld: views.flatMap(({ kind, withheld }) =>
      withheld.map(({ entry, owner }) => ({ ...createCatalogRow(kind, entry), owner })),
    ),
    unmatched: [...generation.warnings, ...(await findUnmatchedPatterns(generation, fetchLists))],
  }
}

/** Measures the process load, including plugins. */
export function measureLoad(graph: Graph, listeners: readonly Listener[]): Load {
  const bufferedBytes = listeners.reduce((sum, one) => sum + (one.bufferedBytes ?? 0), 0)
  const { admission, peers } = graph.hooks.services
  const replica = peers === undefined ? {} : { replica: peers.sealing.replicaId }
  return { held: bufferedBytes, rss: process.memoryUsage.rss(), ...admission?.getLoad?.(), ...replica }
}

/** Describes the configuration, for the verb `inspect` with `config`; file positions are relative to `cwd`. */
export function describeRequestedConfig({ config, cwd }: JsonObject, loaded: LoadedConfig): Partial<DescribedConfig> {
  return config === true ? describeConfig(loaded, typeof cwd === 'string' ? cwd : '') : {}
}

/** Eras that a listener offers modern clients if limited, and the header that enables more. */
export function listLimitedEras(
  listener: string,
  config: LoadedConfig['config'],
): { readonly eras?: string; readonly label?: string } {
  const spec = config.listeners[listener]
  if (spec?.type !== 'http') return {}
  const offered = getOfferedEras(config, spec, spec.profile)
  const label = typeof spec.sessionLabel === 'string' ? spec.sessionLabel : undefined
  const eras = describeEras(offered, label ?? false)
  if (eras === undefined) return {}
  return label === undefined || offered.modern === 'none' ? { eras } : { eras, label }
}

function countEntries(upstream: string, views: readonly View[]): Partial<Record<Kind, number>> {
  const counts = views.map(
    ({ kind, entries }) => [kind, entries.filter(entry => entry.upstream === upstream).length] as const,
  )
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

function createCatalogRow(kind: Kind, { exposed, upstream, original, value }: CatalogEntry): CatalogRow {
  const description = value.description ?? value.title
  return {
    kind,
    name: exposed,
    upstream,
    original,
    ...(typeof description === 'string' ? { description } : {}),
  }
}

function listHookOrder(graph: Graph): Inspection['hooks'] {
  const order: Record<string, { plugin: string; stage: string; methods?: readonly string[]; key?: string }[]> = {}
  for (const name of Object.keys(HOOKS) as HookName[]) {
    const taps = graph.hooks.taps(name)
    if (taps.length === 0) continue
    order[name] = taps.map(({ plugin, options, key }) => ({
      plugin,
      stage: options.stage ?? 'normal',
      ...(options.methods === undefined ? {} : { methods: options.methods }),
      ...(key === undefined ? {} : { key }),
    }))
  }
  return order
}

/** Creates an upstream's public handle. */
export function createUpstreamHandle(upstream: Upstream, graph: Graph): UpstreamHandle {
  return {
    name: upstream.name,
    status: () => getUpstreamStatus(upstream, graph),
    get logs() {
      return upstream.logs
    },
    async start() {
      // On a manual start, do not wait for the next retry.
      if (upstream.state === 'failed') await upstream.stop()
      await upstream.start()
    },
    stop: () => upstream.stop(),
    async restart() {
      await upstream.stop()
      await upstream.start()
    },
  }
}
