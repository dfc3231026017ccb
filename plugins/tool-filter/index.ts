import type {
  Call,
  CatalogEntry,
  Config,
  ExplainStep,
  JsonObject,
  Plugin,
  PluginHooks,
  Report,
} from '../../src/plugin.ts'
import {
  BoundedMap,
  defineErrors,
  isObject,
  LISTS,
  parseParamHeaders,
  getParamHeaders,
  RPC,
  compileGlobs,
  readMap,
  appendPointer,
} from '../../src/plugin.ts'
import type { Filter } from './filter.ts'
import { GUARDED_METHODS, prepareFilter, createDenyGuard, renameUiLinks } from './filter.ts'
import type { Override, OverrideSpec } from './override/overrides.ts'
import { Overrides, applyOverride, hasPointer } from './override/overrides.ts'

const ERRORS = {
  GW_ARGUMENT_UNKNOWN: {
    text: 'Unknown argument "{argument}" of tool {tool}',
    hint: 'tools.override hides, sets or renames it; tools/list shows the valid arguments.',
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_ARGUMENT_INEXACT: {
    text: 'Argument "{argument}" of tool {tool} has a number that cannot be represented exactly',
    hint: 'tools.override renames it; send the number as a string, or with at most 15 digits.',
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

const filterError = defineErrors(ERRORS)

const MAX_TOOLS = 10_000

/** Arguments sent in headers, by tool. */
type ParamHeaders = NonNullable<ReturnType<typeof parseParamHeaders>>
type ParamHeaderMap = BoundedMap<string, ParamHeaders>

function createParamHeaderMap(): ParamHeaderMap {
  return new BoundedMap({ max: MAX_TOOLS })
}

/** Stores the header arguments before they are renamed or hidden. */
function storeParamHeaders(paramHeaders: ParamHeaderMap, key: string, inputSchema: unknown): void {
  const headers = parseParamHeaders(inputSchema) ?? []
  if (headers.length > 0) paramHeaders.set(key, headers)
}

function formatToolKey(upstream: string, original: string): string {
  return JSON.stringify([upstream, original])
}

/** Restores original argument names before policies and audit see the call. */
function tapToolCalls(hooks: PluginHooks, overrides: Overrides, paramHeaders: ParamHeaderMap): void {
  const done = new WeakSet<object>()
  hooks.call.tap({ methods: ['tools/call'], stage: 'trace' }, call => {
    const original = call.params?.name
    if (typeof original !== 'string') return
    const override = overrides.findOverride(call.upstream, original)
    if (override?.arguments === undefined) return
    // A retried call with input responses is restored already.
    const args = call.params?.arguments
    if (!isObject(args) || !done.has(args)) restoreArguments(call, override, done)
    const headers = paramHeaders.get(formatToolKey(call.upstream, original))
    if (headers !== undefined) Object.assign(call.headers, getParamHeaders(headers, call.params?.arguments))
  })
  hooks.explain.tap((steps, { entry, exchange }) => {
    const override = entry?.kind === 'tools' ? overrides.findOverride(entry.upstream, entry.original) : undefined
    return override?.arguments === undefined || exchange.method !== 'tools/call' ? undefined : [...steps, OVERRIDE_STEP]
  })
}

const OVERRIDE_STEP: ExplainStep = {
  by: 'tool-filter',
  at: 'call',
  does: 'passes',
  text: 'tools.override changes the arguments; policies see the original ones',
}

function restoreArguments(call: Call, { arguments: changes }: Override, done: WeakSet<object>): void {
  const { exchange } = call
  const args = call.params?.arguments ?? {}
  // Let the server report arguments that are not an object.
  if (!isObject(args) || changes === undefined) return
  const made = changes.restore(args, exchange.hasExactNumbers !== false)
  const tool = String(exchange.params?.name)
  if ('unknown' in made) throw filterError('GW_ARGUMENT_UNKNOWN', { tool, argument: made.unknown.slice(0, 100) })
  if ('inexact' in made) throw filterError('GW_ARGUMENT_INEXACT', { tool, argument: made.inexact })
  done.add(made.args)
  call.params = replaceArguments(call.params, made.args)
  exchange.params = replaceArguments(exchange.params, made.args)
}

function replaceArguments(params: JsonObject | undefined, args: JsonObject): JsonObject {
  return { ...params, arguments: args }
}

const DENIED_STEP: ExplainStep = {
  by: 'tool-filter',
  at: 'request',
  does: 'refuses',
  text: 'denied by the global filters',
  rule: '/filters/tools/deny',
}

type ToolsByUpstream = Parameters<NonNullable<Plugin['checkTools']>>[1]
type FilterSection = 'tools' | 'prompts' | 'resources'

/** Filters of one section: upstream filters on original names, then global ones on exposed names. */
interface SectionFilters {
  readonly own: ReadonlyMap<string, UpstreamFilter>
  readonly all: Filter
}

interface UpstreamFilter extends Filter {
  readonly prefix: string
}

/**
 * Decides which objects are visible, and under which name and description. Hidden objects are unknown: every lookup
 * and route uses the same taps, so guessing a name does not help.
 */
export const toolFilter: Plugin<Config['filters']> = {
  name: 'tool-filter',
  claims: { section: 'filters', upstream: ['tools', 'prompts', 'resources'] },
  errors: ERRORS,
  check: checkOverrides,
  checkTools: checkOverriddenTools,
  setup({ config, hooks }) {
    const sections: Record<FilterSection, SectionFilters> = {
      tools: createFilters(config, 'tools'),
      prompts: createFilters(config, 'prompts'),
      resources: createFilters(config, 'resources'),
    }
    const refuse = createDenyGuard(config.filters)
    if (refuse !== undefined) {
      hooks.request.tap({ stage: 'policy', methods: GUARDED_METHODS }, refuse)
      hooks.explain.tap((steps, { exchange }) => (refuse(exchange) === undefined ? undefined : [...steps, DENIED_STEP]))
    }
    hooks.catalog.tap({ stage: 'policy', checksUris: hasRules(sections.resources) }, (entries, { kind }) => {
      const filters = sections[LISTS[kind].capability]
      return isEmpty(filters) ? undefined : entries.filter(entry => isVisible(entry, filters))
    })
    hooks.catalog.tap({ stage: 'transform' }, (entries, { kind }) => {
      const filters = sections[LISTS[kind].capability]
      return isEmpty(filters) ? undefined : entries.map(entry => applyNames(entry, filters))
    })
    tapOverrides(config, sections.tools, hooks)
    if (hasRenames(sections.resources)) {
      hooks.catalog.tap({ stage: 'transform' }, (entries, { kind }) =>
        kind === 'tools' ? entries.map(entry => renameLinks(entry, sections.resources)) : undefined,
      )
    }
  },
}

/** Applies overrides to listed tools, and restores arguments in calls. */
function tapOverrides(config: Config, filters: SectionFilters, hooks: PluginHooks): void {
  const visible = (upstream: string, original: string): string => {
    const own = filters.own.get(upstream)
    const prefix = config.upstreams[upstream]?.prefix ?? `${upstream}__`
    return prefix + (own?.rename(original) ?? original)
  }
  const overrides = Overrides.create(config, visible)
  if (overrides === undefined) return
  const paramHeaders = createParamHeaderMap()
  hooks.catalog.tap({ stage: 'transform' }, (entries, { kind }) =>
    kind !== 'tools'
      ? undefined
      : entries.map(entry => {
          const override = overrides.findOverride(entry.upstream, entry.original)
          if (override === undefined || entry.isUnlisted === true) return entry
          if (override.arguments !== undefined)
            storeParamHeaders(paramHeaders, formatToolKey(entry.upstream, entry.original), entry.value.inputSchema)
          return { ...entry, value: applyOverride(entry.value, override) }
        }),
  )
  if (overrides.changesArguments) tapToolCalls(hooks, overrides, paramHeaders)
}

function createFilters(config: Config, section: FilterSection): SectionFilters {
  const own = new Map<string, UpstreamFilter>()
  for (const [name, spec] of Object.entries(config.upstreams)) {
    const filter = prepareFilter(spec[section], section === 'resources')
    const prefix = section === 'resources' ? '' : (spec.prefix ?? `${name}__`)
    if (!filter.isEmpty) own.set(name, { ...filter, prefix })
  }
  return { own, all: prepareFilter(config.filters?.[section], section === 'resources') }
}

function hasRules({ own, all }: SectionFilters): boolean {
  return all.isRule || [...own.values()].some(filter => filter.isRule)
}

function isEmpty({ own, all }: SectionFilters): boolean {
  return own.size === 0 && all.isEmpty
}

function isVisible(entry: CatalogEntry, { own, all }: SectionFilters): boolean {
  const filter = own.get(entry.upstream)
  return filter?.permits(entry.original) !== false && all.permits(getVisibleName(filter, entry))
}

function applyNames(entry: CatalogEntry, { own, all }: SectionFilters): CatalogEntry {
  const filter = own.get(entry.upstream)
  const visible = getVisibleName(filter, entry)
  const exposed = (hasName(entry) ? all.rename(visible) : undefined) ?? visible
  const description = all.describe.get(visible) ?? filter?.describe.get(entry.original)
  if (exposed === entry.exposed && description === undefined) return entry
  return {
    ...entry,
    exposed,
    value: description === undefined ? entry.value : { ...entry.value, description },
  }
}

function hasRenames({ own, all }: SectionFilters): boolean {
  return all.hasRenames || [...own.values()].some(filter => filter.hasRenames)
}

/** Renames a tool's UI resource links. */
function renameLinks(entry: CatalogEntry, { own, all }: SectionFilters): CatalogEntry {
  const value = renameUiLinks(entry.value, uri => {
    const visible = own.get(entry.upstream)?.rename(uri) ?? uri
    return all.rename(visible) ?? visible
  })
  return value === entry.value ? entry : { ...entry, value }
}

/** False for templates, which match many URIs. */
function hasName({ kind }: CatalogEntry): boolean {
  return kind !== 'resourceTemplates'
}

/** Name after the upstream's renames, which global filters match. */
function getVisibleName(filter: UpstreamFilter | undefined, entry: CatalogEntry): string {
  const renamed = hasName(entry) ? filter?.rename(entry.original) : undefined
  return filter === undefined || renamed === undefined ? entry.exposed : filter.prefix + renamed
}

/** Reports contradictory overrides. */
function checkOverrides(config: unknown, report: Report): void {
  for (const { pointer, written } of listOverridePaths(config))
    for (const [glob, spec] of Object.entries(written)) {
      const at = `${appendPointer(pointer, glob)}/arguments`
      checkNames(listArguments(spec), at, report)
    }
}

interface OverridePath {
  readonly pointer: string
  readonly written: JsonObject
  /** Upstream; undefined for all. */
  readonly upstream: string | undefined
}

function listOverridePaths(config: unknown): OverridePath[] {
  const own = Object.keys(readMap(config, 'upstreams')).map(upstream => ({
    pointer: `${appendPointer('/upstreams', upstream)}/tools/override`,
    written: readMap(config, 'upstreams', upstream, 'tools', 'override'),
    upstream,
  }))
  const all = readMap(config, 'filters', 'tools', 'override')
  return [...own, { pointer: '/filters/tools/override', written: all, upstream: undefined }]
}

function listArguments(spec: unknown): [string, JsonObject][] {
  return Object.entries(readMap({ spec }, 'spec', 'arguments')).flatMap(([name, argument]) =>
    isObject(argument) ? [[name, argument] as [string, JsonObject]] : [],
  )
}

/** Reports two arguments with the same name. */
function checkNames(args: readonly (readonly [string, JsonObject])[], pointer: string, report: Report): void {
  const names = new Map<unknown, string>()
  for (const [name, { rename }] of args) {
    if (rename === undefined) continue
    const toolName = names.get(rename)
    names.set(rename, name)
    if (toolName !== undefined)
      report({
        pointer: `${appendPointer(pointer, name)}/rename`,
        message: `"${String(rename)}" is already the name of "${toolName}"`,
        hint: 'use unique names',
      })
  }
}

/** Reports overrides that do not match the listed tools. */
function checkOverriddenTools(config: unknown, knownTools: ToolsByUpstream, report: Report): void {
  for (const { pointer, written, upstream } of listOverridePaths(config))
    for (const [glob, spec] of Object.entries(written)) {
      const tools = findMatchingTools(glob, upstream, knownTools)
      // Another check reports globs without a match.
      if (tools.length > 0) checkSpec(spec as OverrideSpec, appendPointer(pointer, glob), tools, report)
    }
}

/** Finds the known tools that a glob matches. */
function findMatchingTools(
  glob: string,
  upstream: string | undefined,
  knownTools: ToolsByUpstream,
): readonly JsonObject[] {
  const fits = compileGlobs(glob)
  return [...knownTools].flatMap(([name, tools]) =>
    upstream !== undefined && upstream !== name
      ? []
      : tools.filter(tool => fits(upstream === undefined ? tool.exposed : tool.original)).map(({ value }) => value),
  )
}

function checkSpec(spec: OverrideSpec, pointer: string, tools: readonly JsonObject[], report: Report): void {
  const schemas = tools.map(({ inputSchema }) => (isObject(inputSchema) ? inputSchema : {}))
  for (const text of Object.keys(spec.texts ?? {}))
    if (!schemas.some(schema => hasPointer(schema, text)))
      reportWarning(appendPointer(`${pointer}/texts`, text), `no schema contains "${text}"`, report)
  for (const name of Object.keys(spec.arguments ?? {}))
    if (!schemas.some(schema => Object.hasOwn(readMap(schema, 'properties'), name)))
      reportWarning(appendPointer(`${pointer}/arguments`, name), `no matching tool has an argument "${name}"`, report)
}

function reportWarning(pointer: string, message: string, report: Report): void {
  report({ pointer, message, severity: 'warning' })
}
