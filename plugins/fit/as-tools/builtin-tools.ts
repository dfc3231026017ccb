import type { CatalogEntry, JsonObject } from '../../../src/plugin.ts'
import { isOwnName, assignOwnNames } from '../../../src/plugin.ts'

/** Entry kinds that a client gets through tools. */
export interface AsToolsKinds {
  readonly resources: boolean
  readonly prompts: boolean
}

/** Built-in tools by purpose. */
export type BuiltinTool = 'listResources' | 'readResource' | 'listPrompts' | 'getPrompt'

/** Tool names in one list. */
export type BuiltinToolNames = Readonly<Record<BuiltinTool, string>>

const NAMES: BuiltinToolNames = {
  listResources: 'list_resources',
  readResource: 'read_resource',
  listPrompts: 'list_prompts',
  getPrompt: 'get_prompt',
}
const BUILTIN_TOOLS = Object.keys(NAMES) as BuiltinTool[]
const BASE_NAMES = Object.values(NAMES)

/** Returns true if a name may belong to a built-in tool; a server's tool with the same name adds a prefix to ours. */
export function canBeBuiltinName(name: unknown): name is string {
  return isOwnName(name, BASE_NAMES)
}

/** Assigns names to the built-in tools: the base names, or all with a prefix if a server's tool has one of them. */
export function assignToolNames(entries: readonly CatalogEntry[]): BuiltinToolNames {
  return assignOwnNames(NAMES, entries)
}

/** Finds the built-in tool with this name, if it is offered for these kinds. */
export function findBuiltinTool(
  name: string,
  names: BuiltinToolNames,
  { resources, prompts }: AsToolsKinds,
): BuiltinTool | undefined {
  const meta = BUILTIN_TOOLS.find(one => names[one] === name)
  if (meta === undefined) return undefined
  return (meta === 'listResources' || meta === 'readResource' ? resources : prompts) ? meta : undefined
}

export function listBuiltinTools({ resources, prompts }: AsToolsKinds, names: BuiltinToolNames): CatalogEntry[] {
  return [...(resources ? createResourceTools(names) : []), ...(prompts ? createPromptTools(names) : [])]
}

function createResourceTools(names: BuiltinToolNames): CatalogEntry[] {
  return [
    createBuiltinEntry(names.listResources, {
      title: 'List resources',
      description: `Lists documents, files and records that servers offer by URI. Read one with ${names.readResource}.`,
      inputSchema: {
        type: 'object',
        properties: {
          templates: { type: 'boolean', description: 'Set to true to list URI templates.' },
          cursor: CURSOR,
        },
      },
    }),
    createBuiltinEntry(names.readResource, {
      title: 'Read a resource',
      description: `Returns the content of a resource, by a URI from ${names.listResources} or from another result.`,
      inputSchema: {
        type: 'object',
        properties: { uri: { type: 'string' } },
        required: ['uri'],
      },
    }),
  ]
}

function createPromptTools(names: BuiltinToolNames): CatalogEntry[] {
  return [
    createBuiltinEntry(names.listPrompts, {
      title: 'List prompts',
      description: `Lists instructions for common tasks that servers offer. Get one with ${names.getPrompt}, and follow it.`,
      inputSchema: { type: 'object', properties: { cursor: CURSOR } },
    }),
    createBuiltinEntry(names.getPrompt, {
      title: 'Get a prompt',
      description: `Returns the text of a prompt, by a name from ${names.listPrompts}.`,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          arguments: {
            type: 'object',
            description: `Arguments listed by ${names.listPrompts}, as strings.`,
          },
        },
        required: ['name'],
      },
    }),
  ]
}

const CURSOR = { type: 'string', description: 'The nextCursor of the previous result, to get more.' }
const READ_ONLY = { readOnlyHint: true, openWorldHint: false }

/**
 * Creates a tool that belongs to no server. It is pinned: otherwise lists with few tools would hide the only access
 * to resources and prompts.
 */
function createBuiltinEntry(name: string, value: JsonObject): CatalogEntry {
  return {
    kind: 'tools',
    upstream: '',
    original: name,
    exposed: name,
    value: { name, ...value, annotations: READ_ONLY },
    marks: { pinned: 'always' },
  }
}
