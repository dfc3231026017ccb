import {
  LISTS,
  type CatalogEntry,
  type Config,
  type ExplainStep,
  type Plugin,
  type PluginHooks,
} from '../../src/plugin.ts'
import { check, checkTools } from './check.ts'
import { ERRORS } from './errors.ts'
import { prepareFilter, GUARDED, refuseDenied, withLinks, type Filter } from './guard.ts'
import { dressTool } from './override/dress-tool.ts'
import { Overrides } from './override/overrides.ts'
import { keyOf, mirrors, noteMirrors, tapCalls } from './override/tap-calls.ts'

const DENIED: ExplainStep = {
  by: 'tool-filter',
  at: 'request',
  does: 'refuses',
  text: 'the filters over all servers deny the name',
  rule: '/filters/tools/deny',
}

type Section = 'tools' | 'prompts' | 'resources'

/** The filters of one section: each upstream's on its own names, then everybody's on the names clients see. */
interface Filters {
  readonly own: ReadonlyMap<string, OwnFilter>
  readonly all: Filter
}

interface OwnFilter extends Filter {
  readonly prefix: string
}

/**
 * Decides what of the catalog is visible, and under which name and description. What is hidden is unknown: every
 * look-up and every route goes through the same taps, so it cannot be called by guessing its name.
 */
export const toolFilter: Plugin<Config['filters']> = {
  name: 'tool-filter',
  claims: { section: 'filters', upstream: ['tools', 'prompts', 'resources'] },
  errors: ERRORS,
  check,
  checkTools,
  setup({ config, hooks }) {
    const sections: Record<Section, Filters> = {
      tools: filtersOf(config, 'tools'),
      prompts: filtersOf(config, 'prompts'),
      resources: filtersOf(config, 'resources'),
    }
    const refuse = refuseDenied(config.filters)
    if (refuse !== undefined) {
      hooks.request.tap({ stage: 'policy', methods: GUARDED }, refuse)
      hooks.explain.tap((steps, { exchange }) =>
        refuse(exchange) === undefined ? undefined : [...steps, DENIED],
      )
    }
    hooks.catalog.tap({ stage: 'policy', judgesUris: isRule(sections.resources) }, (entries, { kind }) => {
      const filters = sections[LISTS[kind].capability]
      return isIdle(filters) ? undefined : entries.filter(entry => isVisible(entry, filters))
    })
    hooks.catalog.tap({ stage: 'transform' }, (entries, { kind }) => {
      const filters = sections[LISTS[kind].capability]
      return isIdle(filters) ? undefined : entries.map(entry => dressed(entry, filters))
    })
    tapOverrides(config, sections.tools, hooks)
    if (hasRenames(sections.resources)) {
      hooks.catalog.tap({ stage: 'transform' }, (entries, { kind }) =>
        kind === 'tools' ? entries.map(entry => linked(entry, sections.resources)) : undefined,
      )
    }
  },
}

/** Shows tools as their owner describes them, and puts the arguments of calls back. */
function tapOverrides(config: Config, filters: Filters, hooks: PluginHooks): void {
  const visible = (upstream: string, original: string): string => {
    const own = filters.own.get(upstream)
    const prefix = config.upstreams[upstream]?.prefix ?? `${upstream}__`
    return prefix + (own?.renamed(original) ?? original)
  }
  const overrides = Overrides.of(config, visible)
  if (overrides === undefined) return
  const known = mirrors()
  hooks.catalog.tap({ stage: 'transform' }, (entries, { kind }) =>
    kind !== 'tools'
      ? undefined
      : entries.map(entry => {
          const override = overrides.for(entry.upstream, entry.original)
          if (override === undefined || entry.isUnlisted === true) return entry
          if (override.arguments !== undefined)
            noteMirrors(known, keyOf(entry.upstream, entry.original), entry.value.inputSchema)
          return { ...entry, value: dressTool(entry.value, override) }
        }),
  )
  if (overrides.changesArguments) tapCalls(hooks, overrides, known)
}

function filtersOf(config: Config, section: Section): Filters {
  const own = new Map<string, OwnFilter>()
  for (const [name, spec] of Object.entries(config.upstreams)) {
    const filter = prepareFilter(spec[section], section === 'resources')
    const prefix = section === 'resources' ? '' : (spec.prefix ?? `${name}__`)
    if (!filter.isEmpty) own.set(name, { ...filter, prefix })
  }
  return { own, all: prepareFilter(config.filters?.[section], section === 'resources') }
}

function isRule({ own, all }: Filters): boolean {
  return all.isRule || [...own.values()].some(filter => filter.isRule)
}

function isIdle({ own, all }: Filters): boolean {
  return own.size === 0 && all.isEmpty
}

function isVisible(entry: CatalogEntry, { own, all }: Filters): boolean {
  const filter = own.get(entry.upstream)
  return filter?.permits(entry.original) !== false && all.permits(exposedBy(filter, entry))
}

function dressed(entry: CatalogEntry, { own, all }: Filters): CatalogEntry {
  const filter = own.get(entry.upstream)
  const visible = exposedBy(filter, entry)
  const exposed = (isNamed(entry) ? all.renamed(visible) : undefined) ?? visible
  const description = all.describe.get(visible) ?? filter?.describe.get(entry.original)
  if (exposed === entry.exposed && description === undefined) return entry
  return {
    ...entry,
    exposed,
    value: description === undefined ? entry.value : { ...entry.value, description },
  }
}

function hasRenames({ own, all }: Filters): boolean {
  return all.hasRenames || [...own.values()].some(filter => filter.hasRenames)
}

/** A tool with the resources of its user interface under the URIs that clients know. */
function linked(entry: CatalogEntry, { own, all }: Filters): CatalogEntry {
  const value = withLinks(entry.value, uri => {
    const visible = own.get(entry.upstream)?.renamed(uri) ?? uri
    return all.renamed(visible) ?? visible
  })
  return value === entry.value ? entry : { ...entry, value }
}

/** A template stands for many URIs, so it has no name to change. */
function isNamed({ kind }: CatalogEntry): boolean {
  return kind !== 'resourceTemplates'
}

/** The name after the upstream's own renames, which is what `filters` is about. */
function exposedBy(filter: OwnFilter | undefined, entry: CatalogEntry): string {
  const renamed = isNamed(entry) ? filter?.renamed(entry.original) : undefined
  return filter === undefined || renamed === undefined ? entry.exposed : filter.prefix + renamed
}
