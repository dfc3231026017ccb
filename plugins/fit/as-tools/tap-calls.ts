import type {
  Answer,
  CarriedRequest,
  CatalogEntry,
  Config,
  Exchange,
  JsonObject,
  ListingReader,
  PluginApi,
} from '../../../src/plugin.ts'
import {
  answer,
  authorizationKey,
  BoundedMap,
  isObject,
  filterObjects,
  listProfiles,
  RPC,
  toolError,
} from '../../../src/plugin.ts'
import type { ClientProfile } from '../profiles.ts'
import type { Kinds, Meta, Names } from './definitions.ts'
import { mayBeOurs, metaOf, namesBeside, toolsFor } from './definitions.ts'

/** Errors that a model can mend by another name or URI, or that say that nothing of the kind is offered. */
const MENDABLE: ReadonlySet<number> = new Set([RPC.invalidParams, RPC.methodNotFound, RPC.legacyNoResource])

/**
 * Makes a tool's result of the answer to the request that the call meant. An error about what was asked for becomes a text that the model
 * reads; that of a rule or of a server in trouble stays.
 */
export function toolAnswer(meta: Meta, given: Answer, isRefusal: boolean): Answer {
  if ('error' in given) {
    const { code, message } = given.error
    return isRefusal || !MENDABLE.has(code) ? given : failed(message)
  }
  return 'result' in given ? said(CONTENT[meta](given.result.value())) : given
}

/** A result that tells a model what it did wrong. */
function failed(text: string): Answer {
  return answer(toolError(text))
}

function said(content: readonly JsonObject[]): Answer {
  return answer({ content: content.length === 0 ? [textBlock('(empty)')] : content })
}

const CONTENT: Readonly<Record<Meta, (result: JsonObject) => JsonObject[]>> = {
  listResources: ({ resources, resourceTemplates, nextCursor }) => [
    textBlock(
      resourceTemplates === undefined
        ? listText('resources', resources, nextCursor)
        : listText('resourceTemplates', resourceTemplates, nextCursor),
    ),
  ],
  listPrompts: ({ prompts, nextCursor }) => [textBlock(listText('prompts', prompts, nextCursor))],
  readResource: ({ contents }) => contentsOf(contents),
  getPrompt: ({ description, messages }) => messagesOf(description, messages),
}

/** Members that tell a model what to ask for. */
const TELLING = ['uri', 'uriTemplate', 'name', 'title', 'description', 'mimeType', 'size', 'arguments']

function listText(member: string, list: unknown, nextCursor: unknown): string {
  const entries = filterObjects(list).map(entry =>
    Object.fromEntries(TELLING.flatMap(key => (entry[key] === undefined ? [] : [[key, entry[key]]]))),
  )
  return JSON.stringify({ [member]: entries, ...(nextCursor === undefined ? {} : { nextCursor }) })
}

/** One content is the answer; of several, each stands behind its URI. */
function contentsOf(list: unknown): JsonObject[] {
  const contents = filterObjects(list)
  return contents.flatMap(content =>
    contents.length > 1 && typeof content.uri === 'string'
      ? [textBlock(`${content.uri}:`), contentBlock(content)]
      : [contentBlock(content)],
  )
}

function contentBlock(content: JsonObject): JsonObject {
  const { text, blob, mimeType = '' } = content
  if (typeof text === 'string') return textBlock(text)
  const [, kind] = /^(image|audio)\//.exec(String(mimeType)) ?? []
  if (kind !== undefined && typeof blob === 'string') return { type: kind, data: blob, mimeType }
  return { type: 'resource', resource: content }
}

/** One message of the user is the answer; of several, each stands behind its role. */
function messagesOf(description: unknown, list: unknown): JsonObject[] {
  const messages = filterObjects(list)
  const isAlone = messages.length === 1 && messages[0]?.role === 'user'
  const head =
    typeof description === 'string' && description !== '' && !isAlone ? [textBlock(description)] : []
  const blocks = messages.flatMap(({ role, content }) => [
    ...(isAlone ? [] : [textBlock(`${String(role)}:`)]),
    ...(isObject(content) ? [content] : []),
  ])
  return [...head, ...blocks]
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text }
}

type Fit = Exclude<NonNullable<Config['fit']>, boolean>
type ConvertedKinds = Partial<Pick<Fit, 'resources' | 'prompts'>>
type Reader = Pick<ListingReader, 'principal' | 'profile'>
/** Finds the table's row for a client by its name. */
type RowOf = (client: string) => ClientProfile

const CALLS = { methods: ['tools/call'] }
const MAX_LISTS = 10_000

/** Tools for what a client does not show. */
interface AsTools {
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
  const common: ConvertedKinds = typeof config.fit === 'object' ? config.fit : {}
  const usual = kindsIn(common)
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, { fit }]) => [name, kindsIn({ ...common, ...fit })]),
  )
  if (![usual, ...profiles.values()].some(({ resources, prompts }) => resources || prompts)) return undefined
  const profileOf = listProfiles(config)
  return reader => profiles.get(profileOf(reader) ?? '') ?? usual
}

function kindsIn({ resources, prompts }: ConvertedKinds): Kinds {
  return { resources: resources === 'asTools', prompts: prompts === 'asTools' }
}

function neededBy(row: ClientProfile, wanted: Kinds): Kinds {
  return { resources: wanted.resources && !row.resources, prompts: wanted.prompts && !row.prompts }
}

/** Request that a call of one of our tools means. */
type CarriedMessage = Pick<CarriedRequest, 'method' | 'params'>

/** Finds the request that a call means, or says what is wrong with its arguments. */
function requestOf(meta: Meta, given: unknown): CarriedMessage | string {
  const args = given ?? {}
  return isObject(args) ? REQUESTS[meta](args) : 'the arguments must be an object'
}

const REQUESTS: Readonly<Record<Meta, (args: JsonObject) => CarriedMessage | string>> = {
  listResources: ({ templates = false, cursor }) => {
    if (typeof templates !== 'boolean') return '"templates" must be true or false'
    return listOf(templates ? 'resources/templates/list' : 'resources/list', cursor)
  },
  listPrompts: ({ cursor }) => listOf('prompts/list', cursor),
  readResource: ({ uri }) =>
    isText(uri) ? { method: 'resources/read', params: { uri } } : '"uri" must be the URI of a resource',
  getPrompt: ({ name, arguments: given = {} }) => {
    if (!isText(name)) return '"name" must be the name of a prompt'
    const args = textsOf(given)
    if (args === undefined) return '"arguments" must be an object of texts'
    return { method: 'prompts/get', params: { name, arguments: args } }
  },
}

/** Models send an empty text, or null, where they have no cursor. */
function listOf(method: CarriedMessage['method'], cursor: unknown): CarriedMessage | string {
  if (cursor === undefined || cursor === null || cursor === '') return { method, params: {} }
  return typeof cursor === 'string' ? { method, params: { cursor } } : '"cursor" must be a text'
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Arguments of a prompt are texts; models send numbers and truth values too. */
function textsOf(given: unknown): JsonObject | undefined {
  if (!isObject(given)) return undefined
  const entries = Object.entries(given).filter(([, value]) => value !== undefined && value !== null)
  if (entries.some(([, value]) => typeof value === 'object')) return undefined
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
