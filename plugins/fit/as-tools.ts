import type {
  Answer,
  CatalogEntry,
  Config,
  Exchange,
  JsonObject,
  ListingReader,
  PluginApi,
  Upstream,
} from '../../src/plugin.ts'
import {
  answer,
  assignOwnNames,
  createProfileLookup,
  filterObjects,
  isObject,
  isOwnName,
  readMap,
  RPC,
  toolError,
} from '../../src/plugin.ts'
import type { ClientProfile } from './client-profiles.ts'

const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'
const SKILL_URI = /^skill:\/\/([^/]+)/i

/** Entry kinds that clients may get as tools. */
type Kind = 'resources' | 'prompts' | 'skills'

/** Built-in tools by purpose. */
type BuiltinTool = 'listResources' | 'readResource' | 'listPrompts' | 'getPrompt' | 'listSkills' | 'readSkill'

const NAMES: Readonly<Record<BuiltinTool, string>> = {
  listResources: 'list_resources',
  readResource: 'read_resource',
  listPrompts: 'list_prompts',
  getPrompt: 'get_prompt',
  listSkills: 'list_skills',
  readSkill: 'read_skill',
}
const KINDS: Readonly<Record<BuiltinTool, Kind>> = {
  listResources: 'resources',
  readResource: 'resources',
  listPrompts: 'prompts',
  getPrompt: 'prompts',
  listSkills: 'skills',
  readSkill: 'skills',
}
const TOOLS = Object.keys(NAMES) as BuiltinTool[]
const BASE_NAMES = Object.values(NAMES)
const CURSOR = { type: 'string', description: 'The nextCursor of the previous result, to get more.' }

/** Creates the definitions; a server's tool with the same name adds a prefix to ours. */
function createDefinitions(names: Readonly<Record<BuiltinTool, string>>): Readonly<Record<BuiltinTool, JsonObject>> {
  const { listResources, listPrompts, readResource, getPrompt, listSkills, readSkill } = names
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
    listSkills: {
      title: 'List skills',
      description: `Lists skills: instructions of servers for their tasks. Each page is of one server; get all pages before you decide that none fits. Read a skill with ${readSkill}.`,
      inputSchema: { type: 'object', properties: { cursor: CURSOR } },
    },
    readSkill: {
      title: 'Read a skill',
      description: `Returns a skill, by a URI from ${listSkills}, or one of its files. Links in a skill are relative to its folder: guide.md in skill://crm/refunds/SKILL.md is skill://crm/refunds/guide.md.`,
      inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
    },
  }
}

interface CarriedRequest {
  readonly method:
    'resources/list' | 'resources/templates/list' | 'resources/read' | 'prompts/list' | 'prompts/get' | 'skills/list'
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
  listSkills: ({ cursor }) => ({ method: 'skills/list', params: createListParams(cursor) }),
  readSkill: ({ uri }) => ({ method: 'resources/read', params: { uri } }),
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
 * refusal or server failure stays an error. A skill is preceded by its origin.
 */
export function toToolAnswer(tool: BuiltinTool, original: Answer, isRefusal: boolean, origin = ''): Answer {
  if ('error' in original) {
    const { code, message } = original.error
    return isRefusal || !CORRECTABLE_ERRORS.has(code) ? original : answer(toolError(message))
  }
  if (!('result' in original)) return original
  const content = CONTENT[tool](original.result.value())
  const blocks = content.length === 0 ? [createTextBlock('(empty)')] : content
  return answer({ content: tool === 'readSkill' ? [createTextBlock(origin), ...blocks] : blocks })
}

const CONTENT: Readonly<Record<BuiltinTool, (result: JsonObject) => JsonObject[]>> = {
  listResources: formatList,
  listPrompts: formatList,
  readResource: ({ contents }) => formatContents(filterObjects(contents)),
  getPrompt: ({ messages }) => formatMessages(filterObjects(messages)),
  listSkills: ({ skills, nextCursor }) => [
    createTextBlock(JSON.stringify({ skills: filterObjects(skills).map(describeSkill), nextCursor })),
  ],
  readSkill: ({ contents }) => formatContents(filterObjects(contents)),
}

function describeSkill({ uri, frontmatter }: JsonObject): JsonObject {
  const { name, description } = readMap({ frontmatter }, 'frontmatter')
  return { uri, server: SKILL_URI.exec(String(uri))?.[1], name, description }
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

type Reader = Pick<ListingReader, 'principal' | 'profile' | 'client' | 'capabilities'>

interface AsTools {
  /** True if the client gets the tools for skills. */
  readonly listsSkills: (reader: Reader) => boolean
  /** Appends the built-in tools; returns the same list if the client needs none. */
  readonly addTools: (entries: readonly CatalogEntry[], reader: Reader) => readonly CatalogEntry[]
}

/**
 * Converts built-in tool calls to resource, prompt and skill requests. Undefined if the configuration enables none.
 * Tools for skills are listed once a server has announced skills.
 */
export function tapAsTools(
  { config, hooks }: PluginApi,
  findProfile: (client: string) => ClientProfile,
): AsTools | undefined {
  const findSettings = compileSettings(config)
  if (findSettings === undefined) return undefined
  const upstreams = new Map<string, Upstream>()
  hooks.dispatch.tap((_, upstream) => void upstreams.set(upstream.name, upstream))
  const hasSkills = (): boolean => [...upstreams.values()].some(({ server }) => announcesSkills(server?.capabilities))
  const listTools = (reader: Reader): BuiltinTool[] => {
    const settings = findSettings(reader)
    const profile = findProfile(reader.client.name)
    const supported = { ...profile, skills: profile.skills || announcesSkills(reader.capabilities) }
    return TOOLS.filter(tool => settings[KINDS[tool]] === 'asTools' && !supported[KINDS[tool]])
  }
  const listShownTools = (reader: Reader): BuiltinTool[] =>
    listTools(reader).filter(tool => KINDS[tool] !== 'skills' || hasSkills())
  hooks.request.tap({ methods: ['tools/call'], stage: 'unwrap' }, exchange => {
    const { name, arguments: args } = exchange.params ?? {}
    if (!isOwnName(name, BASE_NAMES)) return undefined
    const { principal, profile, client } = exchange.session
    const tools = listTools({ principal, profile, client: client.info, capabilities: client.capabilities })
    const tool = tools.find(one => name.endsWith(NAMES[one]))
    if (tool === undefined) return undefined
    const carried = REQUESTS[tool](isObject(args) ? args : {})
    const request = {
      ...carried,
      convertAnswer: (original: Answer) => {
        const { decidedBy, route } = exchange
        // The plugin for skills is no rule: it refuses unknown cursors, as servers do.
        const isRefusal = decidedBy !== undefined && decidedBy !== 'skills'
        return toToolAnswer(tool, original, isRefusal, formatOrigin(route, carried.params.uri))
      },
    }
    const isOther = tool === 'readSkill' && !SKILL_URI.test(String(carried.params.uri))
    const decision = isOther ? answer(toolError('Invalid params: "uri" must begin with skill://')) : request
    return exchange
      .listShownEntries('tools')
      .then(entries => (entries.some(entry => entry.exposed === name && entry.upstream !== '') ? undefined : decision))
  })
  return {
    listsSkills: reader => listShownTools(reader).includes('listSkills'),
    addTools: (entries, reader) => {
      const tools = listShownTools(reader)
      if (tools.length === 0) return entries
      const names = assignOwnNames(NAMES, entries)
      const definitions = createDefinitions(names)
      return [...entries, ...tools.map(tool => createBuiltinEntry(names[tool], definitions[tool]))]
    },
  }
}

/** Some clients announce the extension, although its specification requires it only of servers. */
function announcesSkills(capabilities: unknown): boolean {
  return SKILLS_EXTENSION in readMap({ capabilities }, 'capabilities', 'extensions')
}

/** Formats the server that a skill is from, for the model; the gateway has its own skills too. */
function formatOrigin(route: Exchange['route'], uri: unknown): string {
  return `Skill from ${route?.to === 'one' ? `server ${route.upstream}` : 'the gateway'} (${String(uri)}):`
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

type KindSettings = Readonly<Partial<Record<Kind, 'asTools' | 'no'>>>

/** Compiles the settings by profile; undefined if none adds tools. */
function compileSettings(config: Config): ((reader: Reader) => KindSettings) | undefined {
  const usual: KindSettings = typeof config.fit === 'object' ? config.fit : {}
  const profiles = new Map<string, KindSettings>(
    Object.entries(config.profiles ?? {}).map(([name, { fit }]) => [name, { ...usual, ...fit }]),
  )
  const all = [usual, ...profiles.values()]
  if (!all.some(one => Object.values(KINDS).some(kind => one[kind] === 'asTools'))) return undefined
  const profileOf = createProfileLookup(config)
  return reader => profiles.get(profileOf(reader) ?? '') ?? usual
}
