import type {
  Answer,
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
  createProfileLookup,
  RPC,
  toolError,
} from '../../../src/plugin.ts'
import type { ClientProfile } from '../client-profiles.ts'
import type { AsToolsKinds, BuiltinTool, BuiltinToolNames } from './builtin-tools.ts'
import { canBeBuiltinName, findBuiltinTool, assignToolNames, listBuiltinTools } from './builtin-tools.ts'

/** Error codes that a model can correct by another name or URI, and those for unsupported kinds. */
const CORRECTABLE_ERRORS: ReadonlySet<number> = new Set([RPC.invalidParams, RPC.methodNotFound, RPC.legacyNoResource])

/**
 * Converts the carried request's answer to a tool result. An error about the arguments becomes text for the model; a
 * refusal or server failure stays an error.
 */
export function toToolAnswer(meta: BuiltinTool, original: Answer, isRefusal: boolean): Answer {
  if ('error' in original) {
    const { code, message } = original.error
    return isRefusal || !CORRECTABLE_ERRORS.has(code) ? original : createErrorResult(message)
  }
  return 'result' in original ? createContentResult(CONTENT[meta](original.result.value())) : original
}

function createErrorResult(text: string): Answer {
  return answer(toolError(text))
}

function createContentResult(content: readonly JsonObject[]): Answer {
  return answer({ content: content.length === 0 ? [createTextBlock('(empty)')] : content })
}

const CONTENT: Readonly<Record<BuiltinTool, (result: JsonObject) => JsonObject[]>> = {
  listResources: ({ resources, resourceTemplates, nextCursor }) => [
    createTextBlock(
      resourceTemplates === undefined
        ? formatList('resources', resources, nextCursor)
        : formatList('resourceTemplates', resourceTemplates, nextCursor),
    ),
  ],
  listPrompts: ({ prompts, nextCursor }) => [createTextBlock(formatList('prompts', prompts, nextCursor))],
  readResource: ({ contents }) => formatContents(contents),
  getPrompt: ({ description, messages }) => formatMessages(description, messages),
}

/** Members that a model needs to request an entry. */
const SHOWN_MEMBERS = ['uri', 'uriTemplate', 'name', 'title', 'description', 'mimeType', 'size', 'arguments']

function formatList(member: string, list: unknown, nextCursor: unknown): string {
  const entries = filterObjects(list).map(entry =>
    Object.fromEntries(SHOWN_MEMBERS.flatMap(key => (entry[key] === undefined ? [] : [[key, entry[key]]]))),
  )
  return JSON.stringify({ [member]: entries, ...(nextCursor === undefined ? {} : { nextCursor }) })
}

/** A single content is returned as is; several are preceded by their URIs. */
function formatContents(list: unknown): JsonObject[] {
  const contents = filterObjects(list)
  return contents.flatMap(content =>
    contents.length > 1 && typeof content.uri === 'string'
      ? [createTextBlock(`${content.uri}:`), toContentBlock(content)]
      : [toContentBlock(content)],
  )
}

function toContentBlock(content: JsonObject): JsonObject {
  const { text, blob, mimeType = '' } = content
  if (typeof text === 'string') return createTextBlock(text)
  const [, kind] = /^(image|audio)\//.exec(String(mimeType)) ?? []
  if (kind !== undefined && typeof blob === 'string') return { type: kind, data: blob, mimeType }
  return { type: 'resource', resource: content }
}

/** A single user message is returned as is; several are preceded by their roles. */
function formatMessages(description: unknown, list: unknown): JsonObject[] {
  const messages = filterObjects(list)
  const isAlone = messages.length === 1 && messages[0]?.role === 'user'
  const head = typeof description === 'string' && description !== '' && !isAlone ? [createTextBlock(description)] : []
  const blocks = messages.flatMap(({ role, content }) => [
    ...(isAlone ? [] : [createTextBlock(`${String(role)}:`)]),
    ...(isObject(content) ? [content] : []),
  ])
  return [...head, ...blocks]
}

function createTextBlock(text: string): JsonObject {
  return { type: 'text', text }
}

type Fit = Exclude<NonNullable<Config['fit']>, boolean>
type ConvertedKinds = Partial<Pick<Fit, 'resources' | 'prompts'>>
type ToolListReader = Pick<ListingReader, 'principal' | 'profile'>
type FindClientProfile = (client: string) => ClientProfile

const CALLS = { methods: ['tools/call'] }
const MAX_LISTS = 10_000

/** Built-in tools for entries that a client does not show. */
interface BuiltinToolsTap {
  /** Appends the built-in tools; returns the same list if the client needs none. */
  addTools(
    entries: readonly CatalogEntry[],
    reader: Pick<ListingReader, 'principal' | 'profile' | 'client'>,
  ): readonly CatalogEntry[]
}

/** Converts built-in tool calls to resource and prompt requests. Undefined if the configuration enables none. */
export function tapAsTools(
  { config, hooks, slot }: PluginApi,
  findProfile: FindClientProfile,
): BuiltinToolsTap | undefined {
  const getConfiguredKinds = compileAsToolsKinds(config)
  if (getConfiguredKinds === undefined) return undefined
  const named = new BoundedMap<string, BuiltinToolNames>({ max: MAX_LISTS })
  const problems = slot.exchange((): { text: string | undefined } => ({ text: undefined }))
  const getKinds = (reader: ToolListReader, client: string): AsToolsKinds =>
    selectNeededKinds(findProfile(client), getConfiguredKinds(reader))
  const createListKey = (reader: ToolListReader, client: string): string =>
    JSON.stringify([authorizationKey(reader.principal), reader.profile, findProfile(client).client])

  const findCalledTool = async (exchange: Exchange, name: string): Promise<BuiltinTool | undefined> => {
    const { session } = exchange
    const client = session.client.info.name
    const kinds = getKinds(session, client)
    if (!kinds.resources && !kinds.prompts) return undefined
    // Building the list stores the assigned names.
    const entry = (await exchange.listShownEntries('tools')).find(({ exposed }) => exposed === name)
    if (entry !== undefined && entry.upstream !== '') return undefined
    const names = named.use(createListKey(session, client))
    return names && findBuiltinTool(name, names, kinds)
  }
  hooks.request.tap({ ...CALLS, stage: 'unwrap' }, exchange => {
    const name = exchange.params?.name
    if (!canBeBuiltinName(name)) return undefined
    return findCalledTool(exchange, name).then(meta => {
      if (meta === undefined) return undefined
      const message = parseToolCall(meta, exchange.params?.arguments)
      if (typeof message === 'string') {
        problems.get(exchange).text = message
        return undefined
      }
      return {
        ...message,
        convertAnswer: (original: Answer) => toToolAnswer(meta, original, exchange.decidedBy !== undefined),
      }
    })
  })
  // After limits, rules and filters: an invalid call is limited and judged like any other.
  hooks.request.tap({ ...CALLS, stage: 'transform' }, exchange => {
    const { text } = problems.get(exchange)
    return text === undefined ? undefined : createErrorResult(text)
  })
  return {
    addTools(entries, reader) {
      const kinds = getKinds(reader, reader.client.name)
      if (!kinds.resources && !kinds.prompts) return entries
      const names = assignToolNames(entries)
      named.set(createListKey(reader, reader.client.name), names)
      return [...entries, ...listBuiltinTools(kinds, names)]
    },
  }
}

/** Compiles the configured kinds by profile; undefined if none is enabled. */
function compileAsToolsKinds(config: Config): ((reader: ToolListReader) => AsToolsKinds) | undefined {
  const common: ConvertedKinds = typeof config.fit === 'object' ? config.fit : {}
  const usual = parseKinds(common)
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, { fit }]) => [name, parseKinds({ ...common, ...fit })]),
  )
  if (![usual, ...profiles.values()].some(({ resources, prompts }) => resources || prompts)) return undefined
  const profileOf = createProfileLookup(config)
  return reader => profiles.get(profileOf(reader) ?? '') ?? usual
}

function parseKinds({ resources, prompts }: ConvertedKinds): AsToolsKinds {
  return { resources: resources === 'asTools', prompts: prompts === 'asTools' }
}

function selectNeededKinds(row: ClientProfile, kinds: AsToolsKinds): AsToolsKinds {
  return { resources: kinds.resources && !row.resources, prompts: kinds.prompts && !row.prompts }
}

interface CarriedMessage {
  readonly method: 'resources/list' | 'resources/templates/list' | 'resources/read' | 'prompts/list' | 'prompts/get'
  readonly params: JsonObject
}

/** Parses a call into its request; returns an error message if the arguments are invalid. */
function parseToolCall(meta: BuiltinTool, input: unknown): CarriedMessage | string {
  const args = input ?? {}
  return isObject(args) ? REQUESTS[meta](args) : 'the arguments must be an object'
}

const REQUESTS: Readonly<Record<BuiltinTool, (args: JsonObject) => CarriedMessage | string>> = {
  listResources: ({ templates = false, cursor }) => {
    if (typeof templates !== 'boolean') return '"templates" must be true or false'
    return createListRequest(templates ? 'resources/templates/list' : 'resources/list', cursor)
  },
  listPrompts: ({ cursor }) => createListRequest('prompts/list', cursor),
  readResource: ({ uri }) =>
    isNonEmptyString(uri) ? { method: 'resources/read', params: { uri } } : '"uri" must be the URI of a resource',
  getPrompt: ({ name, arguments: input = {} }) => {
    if (!isNonEmptyString(name)) return '"name" must be the name of a prompt'
    const args = stringifyArguments(input)
    if (args === undefined) return '"arguments" must be an object of strings'
    return { method: 'prompts/get', params: { name, arguments: args } }
  },
}

/** Models send an empty string or null instead of omitting the cursor. */
function createListRequest(method: CarriedMessage['method'], cursor: unknown): CarriedMessage | string {
  if (cursor === undefined || cursor === null || cursor === '') return { method, params: {} }
  return typeof cursor === 'string' ? { method, params: { cursor } } : '"cursor" must be a string'
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Prompt arguments are strings; models also send numbers and booleans. */
function stringifyArguments(input: unknown): JsonObject | undefined {
  if (!isObject(input)) return undefined
  const entries = Object.entries(input).filter(([, value]) => value !== undefined && value !== null)
  if (entries.some(([, value]) => typeof value === 'object')) return undefined
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}
