import type {
  Call,
  CatalogEntry,
  Config,
  ExplainStep,
  JsonObject,
  ParamHeader,
  Plugin,
  PluginHooks,
} from '../../src/plugin.ts'
import {
  BoundedMap,
  defineErrors,
  isObject,
  LISTS,
  parseParamHeaders,
  getParamHeaders,
  RPC,
} from '../../src/plugin.ts'
import { check, checkTools } from './check.ts'
import type { Filter } from './guard.ts'
import { GUARDED, prepareFilter, refuseDenied, withLinks } from './guard.ts'
import type { Override } from './override/overrides.ts'
import { Overrides, dressTool } from './override/overrides.ts'

/** Errors of overridden tools. */
const ERRORS = {
  GW_ARGUMENT_UNKNOWN: {
    text: 'Unknown argument "{argument}" of tool {tool}',
    hint: 'tools.override hides, fixes or renames it; tools/list has those that there are.',
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_ARGUMENT_INEXACT: {
    text: 'Argument "{argument}" of tool {tool} has a number that cannot be passed on exactly',
    hint: 'tools.override renames it; send the number as text, or one of at most 15 digits.',
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

const filterError = defineErrors(ERRORS)

const MAX_TOOLS = 10_000

/** Arguments that travel in headers too, by tool; as the server's own schema says. */
type Mirrors = BoundedMap<string, readonly ParamHeader[]>

/** Table of the arguments that travel in headers. */
function mirrors(): Mirrors {
  return new BoundedMap({ max: MAX_TOOLS })
}

/** Notes which arguments of a tool travel in headers: once they are renamed or hidden, its entry does not say so any more. */
function noteMirrors(known: Mirrors, key: string, inputSchema: unknown): void {
  const found = parseParamHeaders(inputSchema) ?? []
  if (found.length > 0) known.set(key, found)
}

function keyOf(upstream: string, original: string): string {
  return JSON.stringify([upstream, original])
}

/**
 * Puts the arguments of calls back to what servers know, ahead of all rules about them and of whoever records them: they know
 * one name of each argument, that of the server.
 */
function tapCalls(hooks: PluginHooks, overrides: Overrides, known: Mirrors): void {
  const done = new WeakSet<object>()
  hooks.call.tap({ methods: ['tools/call'], stage: 'trace' }, call => {
    const original = call.params?.name
    if (typeof original !== 'string') return
    const override = overrides.for(call.upstream, original)
    if (override?.arguments === undefined) return
    // A call that is made once more, with what its server wanted to know, has them already.
    const given = call.params?.arguments
    if (!isObject(given) || !done.has(given)) putBack(call, override, done)
    const found = known.get(keyOf(call.upstream, original))
    if (found !== undefined) Object.assign(call.headers, getParamHeaders(found, call.params?.arguments))
  })
  hooks.explain.tap((steps, { entry, exchange }) => {
    const override = entry?.kind === 'tools' ? overrides.for(entry.upstream, entry.original) : undefined
    return override?.arguments === undefined || exchange.method !== 'tools/call'
      ? undefined
      : [...steps, CHANGES]
  })
}

const CHANGES: ExplainStep = {
  by: 'tool-filter',
  at: 'call',
  does: 'passes',
  text: 'tools.override changes its arguments; rules see those of the server',
}

function putBack(call: Call, { arguments: changes }: Override, done: WeakSet<object>): void {
  const { exchange } = call
  const given = call.params?.arguments ?? {}
  // A server says better than we do what is wrong with arguments that are no object.
  if (!isObject(given) || changes === undefined) return
  const made = changes.putBack(given, exchange.hasExactNumbers !== false)
  const tool = String(exchange.params?.name)
  if ('unknown' in made)
    throw filterError('GW_ARGUMENT_UNKNOWN', { tool, argument: made.unknown.slice(0, 100) })
  if ('inexact' in made) throw filterError('GW_ARGUMENT_INEXACT', { tool, argument: made.inexact })
  done.add(made.args)
  call.params = withArguments(call.params, made.args)
  exchange.params = withArguments(exchange.params, made.args)
}

function withArguments(params: JsonObject | undefined, args: JsonObject): JsonObject {
  return { ...params, arguments: args }
}

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
    hooks.catalog.tap({ stage: 'policy', checksUris: isRule(sections.resources) }, (entries, { kind }) => {
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
