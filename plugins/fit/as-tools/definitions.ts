import type { CatalogEntry, JsonObject } from '../../../src/plugin.ts'
import { isOwnName, assignOwnNames } from '../../../src/plugin.ts'

/** Kinds of things that a client may be given by tools. */
export interface Kinds {
  readonly resources: boolean
  readonly prompts: boolean
}

/** Tools of our own by what they do. */
export type Meta = 'listResources' | 'readResource' | 'listPrompts' | 'getPrompt'

/** Names of our tools in one list. */
export type Names = Readonly<Record<Meta, string>>

const NAMES: Names = {
  listResources: 'list_resources',
  readResource: 'read_resource',
  listPrompts: 'list_prompts',
  getPrompt: 'get_prompt',
}
const METAS = Object.keys(NAMES) as Meta[]
const TAILS = Object.values(NAMES)

/** Tells whether a name can be one of ours: a real tool of that name makes ours longer. */
export function mayBeOurs(name: unknown): name is string {
  return isOwnName(name, TAILS)
}

/** Names of our tools beside these: as they are or, where a real tool has one of them, all behind a prefix. */
export function namesBeside(entries: readonly CatalogEntry[]): Names {
  return assignOwnNames(NAMES, entries)
}

/** Finds which of our tools has a name, among those for these kinds. */
export function metaOf(name: string, names: Names, { resources, prompts }: Kinds): Meta | undefined {
  const meta = METAS.find(one => names[one] === name)
  if (meta === undefined) return undefined
  return (meta === 'listResources' || meta === 'readResource' ? resources : prompts) ? meta : undefined
}

/** Our tools for these kinds. */
export function toolsFor({ resources, prompts }: Kinds, names: Names): CatalogEntry[] {
  return [...(resources ? resourceTools(names) : []), ...(prompts ? promptTools(names) : [])]
}

function resourceTools(names: Names): CatalogEntry[] {
  return [
    own(names.listResources, {
      title: 'List resources',
      description: `Documents, files and records that servers offer by URI. Read one with ${names.readResource}.`,
      inputSchema: {
        type: 'object',
        properties: {
          templates: { type: 'boolean', description: 'True for templates of URIs, to be filled in.' },
          cursor: CURSOR,
        },
      },
    }),
    own(names.readResource, {
      title: 'Read a resource',
      description: `The content of a resource, by a URI from ${names.listResources} or from another result.`,
      inputSchema: {
        type: 'object',
        properties: { uri: { type: 'string' } },
        required: ['uri'],
      },
    }),
  ]
}

function promptTools(names: Names): CatalogEntry[] {
  return [
    own(names.listPrompts, {
      title: 'List prompts',
      description: `Instructions for usual tasks that servers offer by name. Get one with ${names.getPrompt}, and follow it.`,
      inputSchema: { type: 'object', properties: { cursor: CURSOR } },
    }),
    own(names.getPrompt, {
      title: 'Get a prompt',
      description: `The text of a prompt, by a name from ${names.listPrompts}.`,
      inputSchema: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          arguments: {
            type: 'object',
            description: `Its arguments, as ${names.listPrompts} names them: texts.`,
          },
        },
        required: ['name'],
      },
    }),
  ]
}

const CURSOR = { type: 'string', description: 'The nextCursor of the last answer, for more.' }
const READS = { readOnlyHint: true, openWorldHint: false }

/** A tool that no server has. A list that shows few tools shows these: nothing else leads to what they give. */
function own(name: string, value: JsonObject): CatalogEntry {
  return {
    kind: 'tools',
    upstream: '',
    original: name,
    exposed: name,
    value: { name, ...value, annotations: READS },
    marks: { pinned: 'always' },
  }
}
