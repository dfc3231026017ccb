import type { CatalogEntry, Config, Exchange, Plugin, Report, Session } from '../../src/plugin.ts'
import { BoundedMap, readMap, appendPointer, defineErrors, RPC } from '../../src/plugin.ts'
import { tapMetaTools } from './meta-tool-calls.ts'
import { META_TOOL_NAMES } from './meta-tools.ts'
import type { SurfaceMode } from './settings.ts'
import { PARAMETER, createSurfaceResolver } from './settings.ts'
import { createListing, countListTokens, Surface } from './listing.ts'

/** Reports renames that collide with meta tools. */
function checkSurface(config: unknown, report: Report): void {
  const rename = readMap(config, 'filters', 'tools', 'rename')
  for (const [from, to] of Object.entries(rename)) {
    if (!Object.values(META_TOOL_NAMES).includes(String(to))) continue
    report({
      pointer: appendPointer('/filters/tools/rename', from),
      message: `"${String(to)}" is the name of a meta tool`,
      hint: 'choose another name; otherwise the meta tools are called gateway_search_tools and so on',
      severity: 'warning',
    })
  }
}

type SurfaceOptions = NonNullable<Config['surface']>

/** Tokens of the visible list, and of the complete one. */
interface ListCost {
  readonly shown: number
  readonly full: number
}

const MAX_PROFILES = 1000
const MAX_SERVERS = 10_000

const ERRORS = {
  GW_SURFACE_CHOICE: {
    text: 'Bad request: URL parameter "surface" {why}',
    hint: 'surface.choices lists the modes that clients may choose.',
    http: 400,
    rpc: RPC.invalidRequest,
  },
} as const

const surfaceError = defineErrors(ERRORS)

/** Limits the tool list to a token budget; hidden tools can be searched and called by name. */
export const surface: Plugin<SurfaceOptions> = {
  name: 'surface',
  claims: { section: 'surface', profile: ['surface'] },
  check: checkSurface,
  errors: ERRORS,
  setup(api) {
    const { config, hooks } = api
    const surfaces = createSurfaceResolver(config)
    const costs = new BoundedMap<string, ListCost>({ max: MAX_PROFILES })
    const servers = new BoundedMap<string, { tools: number; tokens: number }>({ max: MAX_SERVERS })
    /** Key: the first meta tool of a list, otherwise the list. */
    const surfacesByList = new WeakMap<object, Surface>()

    hooks.session.tap(session => checkChoice(session, surfaces.listChoices(session)))
    // Tap after renames and schema changes, so that search results have the visible names.
    hooks.listing.tap(
      {
        stage: 'transform',
        readers: reader => (reader.kind === 'tools' ? surfaces.resolve(reader).mode : ''),
      },
      (entries, reader) => {
        if (reader.kind !== 'tools') return undefined
        const settings = surfaces.resolve(reader)
        const { entries: listed, surface: made, tokens } = createListing(entries, settings)
        for (const [upstream, own] of Map.groupBy(entries, entry => entry.upstream))
          servers.set(upstream, { tools: own.length, tokens: countListTokens(own) })
        costs.set(settings.profileName, { shown: tokens, full: countListTokens(entries) })
        const [first] = listed
        if (first?.upstream !== '') return undefined
        surfacesByList.set(first, made)
        return listed
      },
    )

    const findSurface = async (exchange: Exchange): Promise<Surface | undefined> => {
      const listed = await exchange.listShownEntries('tools')
      const [first] = listed
      const own = first === undefined ? undefined : surfacesByList.get(first)
      const settings = surfaces.resolve({ ...exchange.session, client: exchange.session.client.info })
      // The list may have exceeded the budget when the client read it.
      return own ?? (settings.maySearch ? getOrCreateSurface(surfacesByList, listed, settings) : undefined)
    }
    tapMetaTools(api as never, findSurface)

    hooks.status.tap((status, { name }) => {
      const own = servers.get(name)
      return own === undefined ? undefined : { ...status, surface: own }
    })
    hooks.metrics.tap(figures => [
      ...figures,
      {
        name: 'tapgate_surface_tokens',
        type: 'gauge',
        help: 'Estimated tokens of the last tool list, as shown and in full.',
        samples: [...costs.entries()].flatMap(([profile, { shown, full }]) => [
          { labels: { profile, form: 'shown' }, value: shown },
          { labels: { profile, form: 'full' }, value: full },
        ]),
      },
    ])
  },
}

/** Refuses a session whose client chose a mode that it must not choose. */
function checkChoice({ choices: { [PARAMETER]: mode } = {} }: Session, choices: readonly SurfaceMode[]): void {
  if (mode === undefined || choices.some(one => one === mode)) return
  const why = choices.length === 0 ? 'not allowed: surface.choices lists no mode' : `must be ${choices.join(' or ')}`
  throw surfaceError('GW_SURFACE_CHOICE', { why })
}

function getOrCreateSurface(
  made: WeakMap<object, Surface>,
  entries: readonly CatalogEntry[],
  settings: ConstructorParameters<typeof Surface>[1],
): Surface {
  const existing = made.get(entries)
  if (existing !== undefined) return existing
  const own = new Surface(entries, settings)
  made.set(entries, own)
  return own
}
