import type { CatalogEntry, Config, Exchange, Plugin, Report } from '../../src/plugin.ts'
import { BoundedMap, readMap, parseDuration, parseSize, appendPointer } from '../../src/plugin.ts'
import { tapCalls } from './calls.ts'
import { NAMES } from './meta-tools.ts'
import type { Mode } from './settings.ts'
import { PARAMETER, surfacesOf } from './settings.ts'
import { listed, listTokens, Surface } from './shown.ts'

/** Points at names that would meet those of our tools. */
export function check(config: unknown, report: Report): void {
  checkCode(config, report)
  const rename = readMap(config, 'filters', 'tools', 'rename')
  for (const [from, to] of Object.entries(rename)) {
    if (!Object.values(NAMES).includes(String(to))) continue
    report({
      pointer: appendPointer('/filters/tools/rename', from),
      message: `"${String(to)}" is the name of a tool of the surface`,
      hint: 'choose another name; with this one the tools of the surface are called gateway_search_tools and so on',
      severity: 'warning',
    })
  }
}

/** Bounds of scripts that a schema cannot say. */
const MAX_MS = 3_600_000
const SHORTEST_MS = 100
const MIN_MEMORY = 1024 * 1024
const MAX_MEMORY = 1024 * 1024 * 1024

function checkCode(config: unknown, report: Report): void {
  const { timeout, memory } = readMap(config, 'surface', 'code')
  if (!isWithin(timeout, parseDuration, SHORTEST_MS, MAX_MS))
    report({
      pointer: '/surface/code/timeout',
      message: 'must be from 100ms to 1h',
      hint: 'a client waits for it: 30s is usual',
    })
  if (!isWithin(memory, parseSize, MIN_MEMORY, MAX_MEMORY))
    report({ pointer: '/surface/code/memory', message: 'must be from 1MiB to 1GiB', hint: '32MiB is usual' })
}

/** True for what is no amount, too: the schema speaks of that. */
function isWithin(
  value: unknown,
  parse: (text: string | number) => number,
  least: number,
  most: number,
): boolean {
  if (typeof value !== 'string' && typeof value !== 'number') return true
  let amount: number
  try {
    amount = parse(value)
  } catch {
    return true
  }
  return Number.isNaN(amount) || (amount >= least && amount <= most)
}

type Options = NonNullable<Config['surface']>

/** Tokens of a list as it is shown, and of all that could be. */
interface Cost {
  readonly shown: number
  readonly full: number
}

const MAX_PROFILES = 1000
const MAX_SERVERS = 10_000

/** Shows no more tools than fit into a context: the others are searched for, and called by their names all the same. */
export const surface: Plugin<Options> = {
  name: 'surface',
  claims: { section: 'surface', profile: ['surface'] },
  check,
  setup(api) {
    const { config, hooks } = api
    const surfaces = surfacesOf(config)
    const costs = new BoundedMap<string, Cost>({ max: MAX_PROFILES })
    const servers = new BoundedMap<string, { tools: number; tokens: number }>({ max: MAX_SERVERS })
    /** By the first of our tools in a list, else by the list. */
    const known = new WeakMap<object, Surface>()

    hooks.choice.for(PARAMETER).tap((value, caller) => whyNot(value, surfaces.choicesOf(caller)))
    // After whatever names and fits: what is found has the names that the reader is shown.
    hooks.listing.tap(
      { stage: 'transform', readers: reader => (reader.kind === 'tools' ? surfaces.of(reader).mode : '') },
      (entries, reader) => {
        if (reader.kind !== 'tools') return undefined
        const settings = surfaces.of(reader)
        const { entries: shown, surface: made, tokens } = listed(entries, settings)
        for (const [upstream, own] of Map.groupBy(entries, entry => entry.upstream))
          servers.set(upstream, { tools: own.length, tokens: listTokens(own) })
        costs.set(settings.profileName, { shown: tokens, full: listTokens(entries) })
        const [first] = shown
        if (first?.upstream !== '') return undefined
        known.set(first, made)
        return shown
      },
    )

    const surfaceFor = async (exchange: Exchange): Promise<Surface | undefined> => {
      const shown = await exchange.listShownEntries('tools')
      const [first] = shown
      const own = first === undefined ? undefined : known.get(first)
      const settings = surfaces.of({ ...exchange.session, client: exchange.session.client.info })
      // A list that fits now may not have when the client read it.
      return own ?? (settings.maySearch ? kept(known, shown, settings) : undefined)
    }
    tapCalls(api as never, surfaceFor)

    hooks.status.tap((status, { name }) => {
      const own = servers.get(name)
      return own === undefined ? undefined : { ...status, surface: own }
    })
    hooks.metrics.tap(figures => [
      ...figures,
      {
        name: 'tapgate_surface_tokens',
        type: 'gauge',
        help: 'Tokens of the last list of tools, as estimated: as it was shown, and in full.',
        samples: [...costs.entries()].flatMap(([profile, { shown, full }]) => [
          { labels: { profile, form: 'shown' }, value: shown },
          { labels: { profile, form: 'full' }, value: full },
        ]),
      },
    ])
  },
}

/** Says what is wrong with a mode that a client chooses. */
function whyNot(value: string, choices: readonly Mode[]): string | undefined {
  if (choices.some(mode => mode === value)) return undefined
  if (choices.length === 0) return 'may not be chosen here: surface.choices of the gateway names no mode'
  return `must be ${choices.join(' or ')}`
}

function kept(
  made: WeakMap<object, Surface>,
  entries: readonly CatalogEntry[],
  settings: ConstructorParameters<typeof Surface>[1],
): Surface {
  const known = made.get(entries)
  if (known !== undefined) return known
  const own = new Surface(entries, settings)
  made.set(entries, own)
  return own
}
