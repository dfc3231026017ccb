import type { Answer, CatalogEntry, Config, JsonObject, ListingReader, PluginApi } from '../../src/plugin.ts'
import {
  answer,
  assignOwnNames,
  createProfileLookup,
  filterObjects,
  isObject,
  isOwnName,
  RPC,
  toolError,
} from '../../src/plugin.ts'
import type { ClientProfile } from './client-profiles.ts'

/** Built-in tools by purpose. */
type BuiltinTool = 'listResources' | 'readResource' | 'listPrompts' | 'getPrompt'

const NAMES: Readonly<Record<BuiltinTool, string>> = {
  listResources: 'list_resources',
  readResource: 'read_resource',
  listPrompts: 'list_prompts',
  getPrompt: 'get_prompt',
}
const TOOLS = Object.keys(NAMES) as BuiltinTool[]
const BASE_NAMES = Object.values(NAMES)
const CURSOR = { type: 'string', description: 'The nextCursor of the previous result, to get more.' }

/** Creates the definitions; a server's tool with the same name adds a prefix to ours. */
function createDefinitions(names: Readonly<Record<BuiltinTool, string>>): Readonly<Record<BuiltinTool, JsonObject>> {
  const { listResources, listPrompts, readResource, getPrompt } = names
  return {
    listResources: {
      title: 'List resources',
      description: `Lists documents, files and records that servers offer by URI. Read one with ${readResource}.`,
      inputSchema: {
        type: 'object',
        properties: {
          templates: { type: 'boolean', description: 'Set to true to list URI templates.' },
          cursor: CURSOR,
        },
      },
    },
    readResource: {
      title: 'Read a resource',
      description: `Returns the content of a resource, by a URI from ${listResources} or from another result.`,
      inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    },
    listPrompts: {
      title: 'List prompts',
      description: `Lists instructions for common tasks that servers offer. Get one with ${getPrompt}, and follow it.`,
      inputSchema: { type: 'object', properties: { cursor: CURSOR } },
    },
    getPrompt: {
      title: 'Get a prompt',
      description: `Returns the text of a prompt, by a name from ${listPrompts}.`,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          arguments: { type: 'object', description: `Arguments listed by ${listPrompts}, as strings.` },
        },
        required: ['name'],
      },
    },
  }
}

interface CarriedRequest {
  readonly method: 'resources/list' | 'resources/templates/list' | 'resources/read' | 'prompts/list' | 'prompts/get'
  readonly params: JsonObject
}

/** Requests by the tools. Servers and the gateway reject invalid arguments. */
const REQUESTS: Readonly<Record<BuiltinTool, (args: JsonObject) => CarriedRequest>> = {
  listResources: ({ templates, cursor }) => ({
    method: templates === true ? 'resources/templates/list' : 'resources/list',
    params: createListParams(cursor),
  }),
  listPrompts: ({ cursor }) => ({ method: 'prompts/list', params: createListParams(cursor) }),
  readResource: ({ uri }) => ({ method: 'resources/read', params: { uri } }),
  getPrompt: ({ name, arguments: args }) => ({
    method: 'prompts/get',
    params: { name, arguments: isObject(args) ? stringifyMembers(args) : args },
  }),
}

/** Models send an empty string or null instead of omitting the cursor. */
function createListParams(cursor: unknown): JsonObject {
  return cursor === undefined || cursor === null || cursor === '' ? {} : { cursor }
}

/** Prompt arguments are strings; models also send other values. */
function stringifyMembers(args: JsonObject): JsonObject {
  const entries = Object.entries(args).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

/** Error codes that a model can correct by another name or URI, and those for unsupported kinds. */
const CORRECTABLE_ERRORS: ReadonlySet<number> = new Set([RPC.invalidParams, RPC.methodNotFound, RPC.legacyNoResource])

/**
 * Converts the carried request's answer to a tool result. An error about the arguments becomes text for the model; a
 * refusal or server failure stays an error.
 */
export function toToolAnswer(tool: BuiltinTool, original: Answer, isRefusal: boolean): Answer {
  if ('error' in original) {
    const { code, message } = original.error
    return isRefusal || !CORRECTABLE_ERRORS.has(code) ? original : answer(toolError(message))
  }
  if (!('result' in original)) return original
  const content = CONTENT[tool](original.result.value())
  return answer({ content: content.length === 0 ? [createTextBlock('(empty)')] : content })
}

const CONTENT: Readonly<Record<BuiltinTool, (result: JsonObject) => JsonObject[]>> = {
  listResources: formatList,
  listPrompts: formatList,
  readResource: ({ contents }) => formatContents(filterObjects(contents)),
  getPrompt: ({ messages }) => formatMessages(filterObjects(messages)),
}

/** Members of a list and of its entries that a model needs; icons, for example, may be large. */
const LIST_MEMBERS = ['resources', 'resourceTemplates', 'prompts', 'nextCursor', 'uri', 'uriTemplate', 'name', 'title']
const ENTRY_MEMBERS = ['description', 'mimeType', 'size', 'arguments', 'required']

function formatList(list: JsonObject): JsonObject[] {
  return [createTextBlock(JSON.stringify(list, [...LIST_MEMBERS, ...ENTRY_MEMBERS]))]
}

/** A single content is returned as is; several are preceded by their URIs. */
function formatContents(contents: readonly JsonObject[]): JsonObject[] {
  if (contents.length === 1) return contents.map(toContentBlock)
  return contents.flatMap(content => [createTextBlock(`${String(content.uri)}:`), toContentBlock(content)])
}

function toContentBlock(content: JsonObject): JsonObject {
  const { text, blob, mimeType = '' } = content
  if (typeof text === 'string') return createTextBlock(text)
  const [, kind] = /^(image|audio)\//.exec(String(mimeType)) ?? []
  if (kind !== undefined && typeof blob === 'string') return { type: kind, data: blob, mimeType }
  return { type: 'resource', resource: content }
}

/** A single user message is returned as is; several are preceded by their roles. */
function formatMessages(messages: readonly JsonObject[]): JsonObject[] {
  const isAlone = messages.length === 1 && messages[0]?.role === 'user'
  return messages.flatMap(({ role, content }) => [
    ...(isAlone ? [] : [createTextBlock(`${String(role)}:`)]),
    ...(isObject(content) ? [content] : []),
  ])
}

function createTextBlock(text: string): JsonObject {
  return { type: 'text', text }
}

interface AsToolsKinds {
  readonly resources: boolean
  readonly prompts: boolean
}

type KindsReader = Pick<ListingReader, 'principal' | 'profile'>

/** Appends the built-in tools; returns the same list if the client needs none. */
type AddTools = (
  entries: readonly CatalogEntry[],
  reader: Pick<ListingReader, 'principal' | 'profile' | 'client'>,
) => readonly CatalogEntry[]

/** Converts built-in tool calls to resource and prompt requests. Undefined if the configuration enables none. */
export function tapAsTools(
  { config, hooks }: PluginApi,
  findProfile: (client: string) => ClientProfile,
): AddTools | undefined {
  const getConfiguredKinds = compileKinds(config)
  if (getConfiguredKinds === undefined) return undefined
  const listTools = (reader: KindsReader, client: string): BuiltinTool[] => {
    const kinds = getConfiguredKinds(reader)
    const profile = findProfile(client)
    const needed = { resources: kinds.resources && !profile.resources, prompts: kinds.prompts && !profile.prompts }
    return TOOLS.filter(tool => needed[tool.endsWith('Prompts') || tool === 'getPrompt' ? 'prompts' : 'resources'])
  }
  hooks.request.tap({ methods: ['tools/call'], stage: 'unwrap' }, exchange => {
    const { name, arguments: args } = exchange.params ?? {}
    if (!isOwnName(name, BASE_NAMES)) return undefined
    const { session } = exchange
    const tool = listTools(session, session.client.info.name).find(one => name.endsWith(NAMES[one]))
    if (tool === undefined) return undefined
    const request = {
      ...REQUESTS[tool](isObject(args) ? args : {}),
      convertAnswer: (original: Answer) => toToolAnswer(tool, original, exchange.decidedBy !== undefined),
    }
    return exchange
      .listShownEntries('tools')
      .then(entries => (entries.some(entry => entry.exposed === name && entry.upstream !== '') ? undefined : request))
  })
  return (entries, reader) => {
    const tools = listTools(reader, reader.client.name)
    if (tools.length === 0) return entries
    const names = assignOwnNames(NAMES, entries)
    const definitions = createDefinitions(names)
    return [...entries, ...tools.map(tool => createBuiltinEntry(names[tool], definitions[tool]))]
  }
}

/**
 * Creates a tool that belongs to no server. It is pinned: otherwise lists with few tools would hide the only access
 * to resources and prompts.
 */
function createBuiltinEntry(name: string, definition: JsonObject): CatalogEntry {
  const annotations = { readOnlyHint: true, openWorldHint: false }
  const value = { name, ...definition, annotations }
  return { kind: 'tools', upstream: '', original: name, exposed: name, value, marks: { pinned: 'always' } }
}

/** Compiles the configured kinds by profile; undefined if none is enabled. */
function compileKinds(config: Config): ((reader: KindsReader) => AsToolsKinds) | undefined {
  const { resources = 'no', prompts = 'no' } = typeof config.fit === 'object' ? config.fit : {}
  const usual = { resources: resources === 'asTools', prompts: prompts === 'asTools' }
  const profiles = new Map(
    Object.entries(config.profiles ?? {}).map(([name, { fit }]) => {
      const own = { resources, prompts, ...fit }
      return [name, { resources: own.resources === 'asTools', prompts: own.prompts === 'asTools' }]
    }),
  )
  if (![usual, ...profiles.values()].some(kinds => kinds.resources || kinds.prompts)) return undefined
  const profileOf = createProfileLookup(config)
  return reader => profiles.get(profileOf(reader) ?? '') ?? usual
}
