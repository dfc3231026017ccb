import { createHash } from 'node:crypto'
import type { JsonObject, Kind } from '../../src/plugin.ts'
import { canonicalizeJson, isObject, LISTS } from '../../src/plugin.ts'

/** Kinds whose definitions a model reads before anything is called. Resources come and go as data does. */
export const PINNED = ['tools', 'prompts', 'resourceTemplates'] as const
export type PinnedKind = (typeof PINNED)[number]

/** Members that say what a thing is to a model, a person or a client. */
const MEMBERS: Readonly<Record<PinnedKind, readonly string[]>> = {
  tools: ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons'],
  prompts: ['name', 'title', 'description', 'arguments', 'icons'],
  resourceTemplates: ['uriTemplate', 'name', 'title', 'description', 'mimeType', 'annotations', 'icons'],
}

/** Members of `_meta` that decide on what a user is shown; the others may change with every answer. */
const META = ['ui', 'ui/resourceUri', 'openai/outputTemplate']

/** Tells whether definitions of this kind are pinned. */
export function isPinnedKind(kind: Kind): kind is PinnedKind {
  return kind in MEMBERS
}

/** The part of what a server lists that is pinned. */
export function extractDefinition(kind: PinnedKind, value: JsonObject): JsonObject {
  const definition: JsonObject = {}
  for (const member of MEMBERS[kind]) if (value[member] !== undefined) definition[member] = value[member]
  if (Array.isArray(definition.icons)) definition.icons = definition.icons.map(hashImage)
  const meta = extractMeta(value)
  return meta === undefined ? definition : { ...definition, _meta: meta }
}

function extractMeta({ _meta }: JsonObject): JsonObject | undefined {
  if (!isObject(_meta)) return undefined
  const kept = META.filter(key => _meta[key] !== undefined).map(key => [key, _meta[key]] as const)
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** An image inside an icon is pinned by its hash: nobody reviews it as text. */
function hashImage(icon: unknown): unknown {
  if (!isObject(icon) || typeof icon.src !== 'string' || !icon.src.startsWith('data:')) return icon
  return { ...icon, src: `data:sha256-${createHash('sha256').update(icon.src).digest('hex')}` }
}

/** The name by which a definition is known at its upstream. */
export function getDefinitionName(kind: PinnedKind, value: JsonObject): string {
  return String(value[LISTS[kind].key])
}

/** Hash of all but the names of a definition: the same thing under another name has it too. Undefined where there is little to compare. */
export function hashBody({
  name: _name,
  title: _title,
  uriTemplate: _uri,
  ...body
}: JsonObject): string | undefined {
  return typeof body.description === 'string' && body.description.trim() !== '' ? hashValue(body) : undefined
}

/** Prefix of every hash: the scheme that it was made by. */
export const HASH_SCHEME = 'v1:'

/** SHA-256 over the canonical text, with the scheme before it. */
export function hashValue(value: unknown): string {
  return HASH_SCHEME + createHash('sha256').update(canonicalizeJson(value)).digest('hex')
}

/** The same data with the names of every object in canonical order. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, sortKeys(member)]))
}
