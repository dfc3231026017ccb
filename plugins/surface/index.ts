import type { Config, Exchange, Plugin, Session } from '../../src/plugin.ts'
import { BoundedMap, defineErrors, RPC } from '../../src/plugin.ts'
import { tapMetaTools } from './meta-tool-calls.ts'
import type { SurfaceMode } from './listing.ts'
import { PARAMETER, createSurfaceResolver, createListing, countListTokens, Surface } from './listing.ts'

type SurfaceOptions = NonNullable<Config['surface']>

/** Tokens of the visible list, and of the complete one. */
interface ListCost {
  readonly shown: number
  readonly full: number
}

const MAX_PROFILES = 1000

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
  errors: ERRORS,
  setup(api) {
    const { config, hooks } = api
    const surfaces = createSurfaceResolver(config)
    const costs = new BoundedMap<string, ListCost>({ max: MAX_PROFILES })
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
        costs.set(settings.profileName, { shown: tokens, full: countListTokens(entries) })
        const [first] = listed
        if (first?.upstream !== '') return undefined
        surfacesByList.set(first, made)
        return listed
      },
    )

    const findSurface = async (exchange: Exchange): Promise<Surface | undefined> => {
      const listed = await exchange.listShownEntries('tools')
      const own = surfacesByList.get(listed[0] ?? listed) ?? surfacesByList.get(listed)
      const settings = surfaces.resolve({ ...exchange.session, client: exchange.session.client.info })
      // The list may have exceeded the budget when the client read it.
      if (own !== undefined || !settings.maySearch) return own
      const made = new Surface(listed, settings)
      surfacesByList.set(listed, made)
      return made
    }
    tapMetaTools(api as never, findSurface)

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
