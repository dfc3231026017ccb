import {
  authorizationKey,
  BoundedMap,
  profileNames,
  type CatalogEntry,
  type Config,
  type Exchange,
  type ListingReader,
  type PluginApi,
} from '../../../src/plugin.ts'
import type { ClientProfile } from '../profiles.ts'
import { failed, toolAnswer } from './answers.ts'
import { mayBeOurs, metaOf, namesBeside, toolsFor, type Kinds, type Meta, type Names } from './definitions.ts'
import { requestOf } from './requests.ts'

type Fit = Exclude<NonNullable<Config['fit']>, boolean>
type Wanted = Partial<Pick<Fit, 'resources' | 'prompts'>>
type Reader = Pick<ListingReader, 'principal' | 'profile'>
/** Finds the table's row for a client by its name. */
type RowOf = (client: string) => ClientProfile

const CALLS = { methods: ['tools/call'] }
const MAX_LISTS = 10_000

/** Tools for what a client does not show. */
export interface AsTools {
  /** The list with them behind it: the very same where the client needs none. */
  with(
    entries: readonly CatalogEntry[],
    reader: Pick<ListingReader, 'principal' | 'profile' | 'client'>,
  ): readonly CatalogEntry[]
}

/** Takes calls of our tools for requests of resources and prompts; undefined where the configuration wants none. */
export function tapAsTools({ config, hooks, slot }: PluginApi, rowOf: RowOf): AsTools | undefined {
  const wanted = wantedBy(config)
  if (wanted === undefined) return undefined
  const named = new BoundedMap<string, Names>({ max: MAX_LISTS })
  const problems = slot.exchange((): { text: string | undefined } => ({ text: undefined }))
  const kindsFor = (reader: Reader, client: string): Kinds => neededBy(rowOf(client), wanted(reader))
  const keyOf = (reader: Reader, client: string): string =>
    JSON.stringify([authorizationKey(reader.principal), reader.profile, rowOf(client).client])

  const metaFor = async (exchange: Exchange, name: string): Promise<Meta | undefined> => {
    const { session } = exchange
    const client = session.client.info.name
    const kinds = kindsFor(session, client)
    if (!kinds.resources && !kinds.prompts) return undefined
    // The list says how ours are called beside what servers have.
    const entry = (await exchange.shown('tools')).find(({ exposed }) => exposed === name)
    if (entry !== undefined && entry.upstream !== '') return undefined
    const names = named.use(keyOf(session, client))
    return names && metaOf(name, names, kinds)
  }
  hooks.unwrap.tap(CALLS, exchange => {
    const name = exchange.params?.name
    if (!mayBeOurs(name)) return undefined
    return metaFor(exchange, name).then(meta => {
      if (meta === undefined) return undefined
      const meant = requestOf(meta, exchange.params?.arguments)
      if (typeof meant === 'string') {
        problems.get(exchange).text = meant
        return undefined
      }
      return { ...meant, answered: given => toolAnswer(meta, given, exchange.decidedBy !== undefined) }
    })
  })
  // After limits, rules and filters: a call that cannot be understood is a call like any other.
  hooks.request.tap({ ...CALLS, stage: 'transform' }, exchange => {
    const { text } = problems.get(exchange)
    return text === undefined ? undefined : failed(text)
  })
  return {
    with(entries, reader) {
      const kinds = kindsFor(reader, reader.client.name)
      if (!kinds.resources && !kinds.prompts) return entries
      const names = namesBeside(entries)
      named.set(keyOf(reader, reader.client.name), names)
      return [...entries, ...toolsFor(kinds, names)]
    },
  }
}

/** Kinds that the configuration wants as tools, by profile; undefined where it wants none at all. */
function wantedBy(config: Config): ((reader: Reader) => Kinds) | undefined {
  const common: Wanted = typeof config.fit === 'object' ? config.fit : {}
  const usual = kindsIn(common)
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, { fit }]) => [name, kindsIn({ ...common, ...fit })]),
  )
  if (![usual, ...profiles.values()].some(({ resources, prompts }) => resources || prompts)) return undefined
  const profileOf = profileNames(config)
  return reader => profiles.get(profileOf(reader) ?? '') ?? usual
}

function kindsIn({ resources, prompts }: Wanted): Kinds {
  return { resources: resources === 'asTools', prompts: prompts === 'asTools' }
}

function neededBy(row: ClientProfile, wanted: Kinds): Kinds {
  return { resources: wanted.resources && !row.resources, prompts: wanted.prompts && !row.prompts }
}
