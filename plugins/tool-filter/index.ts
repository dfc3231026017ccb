import type {
  Call,
  CatalogEntry,
  Config,
  ExplainStep,
  Plugin,
  PluginHooks,
  Answer,
  Exchange,
  JsonObject,
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
  compileAllowedUris,
  canonicalizeUri,
  compileForbiddenUris,
  compileGlobs,
  METHODS,
  appendPointer,
  readMap,
  readText,
  refuse,
} from '../../src/plugin.ts'
import type { Override } from './override/overrides.ts'
import { Overrides, applyOverride } from './override/overrides.ts'

/** UI link in an older MCP Apps draft. */
const LEGACY_UI_LINK = 'ui/resourceUri'

type FilterSection = 'tools' | 'prompts' | 'resources'

type DenyTest = (name: string) => boolean

/** Methods that address an object by name. */
const GUARDED_METHODS: readonly string[] = ['tools/call', 'prompts/get', 'resources/read', 'resources/subscribe']

/**
 * Refuses denied names as unknown. The catalog hides listed ones; this covers names that `routes` sends past it.
 * Undefined if nothing is denied.
 */
function createDenyGuard(filters: Config['filters']): ((exchange: Exchange) => Answer | undefined) | undefined {
  const denied: Record<FilterSection, DenyTest> = {
    tools: createDenyTest(filters?.tools, compileGlobs, name => name),
    prompts: createDenyTest(filters?.prompts, compileGlobs, name => name),
    resources: createDenyTest(filters?.resources, compileForbiddenUris, canonicalizeUri),
  }
  if (Object.values(denied).every(isDenied => isDenied === denyNone)) return undefined
  return exchange => {
    const { kind, target } = METHODS.get(exchange.method) ?? {}
    const name = target === undefined ? undefined : exchange.params?.[target]
    return typeof name === 'string' && denied[kind as FilterSection](name)
      ? UNKNOWN_ANSWERS[kind as FilterSection](name, exchange)
      : undefined
  }
}

const UNKNOWN_ANSWERS: Readonly<Record<FilterSection, (name: string, exchange: Exchange) => Answer>> = {
  tools: name => refuse(RPC.invalidParams, `Unknown tool: ${name}`),
  prompts: name => refuse(RPC.invalidParams, `Unknown prompt: ${name}`),
  resources: (uri, { session }) => {
    const code = session.client.era === 'legacy' ? RPC.legacyNoResource : RPC.invalidParams
    return refuse(code, `Resource not found: ${uri}`, { uri })
  },
}

interface DenyOptions {
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
}

/** Filters match names before their own renames. */
function createDenyTest(
  { deny = [], rename = {} }: DenyOptions = {},
  globsOf: typeof compileGlobs,
  spelled: (name: string) => string,
): DenyTest {
  if (deny.length === 0) return denyNone
  const isDenied = globsOf(deny)
  const undo = new Map(Object.entries(rename).map(([from, to]) => [spelled(to), from]))
  return name => isDenied(undo.get(spelled(name)) ?? name)
}

function denyNone(): boolean {
  return false
}

/** Changes a tool's UI links (MCP Apps); returns the same object if there are none. */
function renameUiLinks(tool: JsonObject, rename: (uri: string) => string): JsonObject {
  const { _meta } = tool
  if (!isObject(_meta)) return tool
  const ui = isObject(_meta.ui) ? renameMember(_meta.ui, 'resourceUri', rename) : _meta.ui
  const meta = renameMember(ui === _meta.ui ? _meta : { ..._meta, ui }, LEGACY_UI_LINK, rename)
  return meta === _meta ? tool : { ...tool, _meta: meta }
}

function renameMember(object: JsonObject, key: string, rename: (uri: string) => string): JsonObject {
  const uri = object[key]
  if (typeof uri !== 'string') return object
  const renamed = rename(uri)
  return renamed === uri ? object : { ...object, [key]: renamed }
}

/** Filter options; resources cannot be renamed. */
interface FilterOptions {
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
  readonly rename?: Readonly<Record<string, string>>
  readonly describe?: Readonly<Record<string, string>>
}

/** Compiled filter. */
interface Filter {
  readonly isEmpty: boolean
  /** True if it hides anything. */
  readonly isRule: boolean
  readonly permits: (name: string) => boolean
  readonly hasRenames: boolean
  /** Returns the new name; undefined if unchanged. */
  readonly rename: (name: string) => string | undefined
  readonly describe: ReadonlyMap<string, string>
}

/**
 * Compiles globs for names or URIs. `deny` wins over `allow`; a missing `allow` permits everything, an empty one
 * nothing.
 */
function prepareFilter(options: FilterOptions = {}, isOfUris = false): Filter {
  const denied = (isOfUris ? compileForbiddenUris : compileGlobs)(options.deny ?? [])
  const allowed =
    options.allow === undefined ? () => true : (isOfUris ? compileAllowedUris : compileGlobs)(options.allow)
  return {
    isEmpty: [options.allow, options.deny, options.rename, options.describe].every(part => part === undefined),
    isRule: options.allow !== undefined || options.deny !== undefined,
    permits: name => !denied(name) && allowed(name),
    hasRenames: options.rename !== undefined,
    rename: createRename(options, isOfUris),
    describe: new Map(Object.entries(options.describe ?? {})),
  }
}

/** URIs are compared in canonical form. */
function createRename({ rename = {} }: FilterOptions, isOfUris: boolean): Filter['rename'] {
  const spelled = isOfUris ? canonicalizeUri : (name: string): string => name
  const renames = new Map(Object.entries(rename).map(([from, to]) => [spelled(from), to]))
  return name => (renames.size === 0 ? undefined : renames.get(spelled(name)))
}

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
  call.params = { ...call.params, arguments: made.args }
  exchange.params = { ...exchange.params, arguments: made.args }
}

const DENIED_STEP: ExplainStep = {
  by: 'tool-filter',
  at: 'request',
  does: 'refuses',
  text: 'denied by the global filters',
  rule: '/filters/tools/deny',
}

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
  check: checkArgumentNames,
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
  const paramHeaders = new BoundedMap<string, ParamHeaders>({ max: MAX_TOOLS })
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

/** Reports two arguments of a tool with one new name. */
function checkArgumentNames(config: unknown, report: Report): void {
  const names = Object.keys(readMap(config, 'upstreams'))
  const paths = [['filters'], ...names.map(name => ['upstreams', name])].map(path => [...path, 'tools', 'override'])
  for (const path of paths)
    for (const [glob, spec] of Object.entries(readMap(config, ...path))) {
      const args = readMap(spec, 'arguments')
      const first = new Map<string, string>()
      for (const name of Object.keys(args)) {
        const renamed = readText(args, name, 'rename')
        const pointer = [...path, glob, 'arguments', name, 'rename'].reduce<string>(appendPointer, '')
        const taken = renamed === undefined ? undefined : first.get(renamed)
        if (renamed !== undefined) first.set(renamed, name)
        if (taken === undefined) continue
        const message = `"${String(renamed)}" is already the name of "${taken}"`
        report({ pointer, message, hint: 'use unique names' })
      }
    }
}
