import { createHash } from 'node:crypto'
import type { CatalogEntry, JsonObject } from '../../src/plugin.ts'
import {
  canonicalizeJson,
  canonicalizeUri,
  filterObjects,
  isObject,
  LISTS,
  readList,
  readText,
} from '../../src/plugin.ts'

/** Kinds whose definitions a model reads before a call. Resources change too often. */
export const PINNED = ['tools', 'prompts', 'resourceTemplates', 'skills'] as const
export type PinnedKind = (typeof PINNED)[number]

/** All kinds of pins, in the order of the lock file. Instructions are one definition of their own kind. */
export const KINDS = ['instructions', ...PINNED] as const
export type PinKind = (typeof KINDS)[number]

/** A definition with its hash. */
export interface Pin {
  readonly kind: PinKind
  /** Name at the upstream. */
  readonly name: string
  readonly hash: string
  readonly definition: JsonObject
}

/** One upstream's pins by `createPinKey`. */
export type UpstreamPins = ReadonlyMap<string, Pin>

/** Pinned members by kind. */
const MEMBERS: Readonly<Record<PinnedKind, readonly string[]>> = {
  tools: ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons'],
  prompts: ['name', 'title', 'description', 'arguments', 'icons'],
  resourceTemplates: ['uriTemplate', 'name', 'title', 'description', 'mimeType', 'annotations', 'icons'],
  skills: ['uri', 'frontmatter', 'resources'],
}

/** Pinned members of `_meta`, which determine the UI shown to a user. */
const META = ['ui', 'ui/resourceUri', 'openai/outputTemplate']

export function isPinnedKind(kind: CatalogEntry['kind']): kind is PinnedKind {
  return kind in MEMBERS
}

/** Extracts a definition's pinned part. */
export function extractDefinition(kind: PinnedKind, value: JsonObject): JsonObject {
  const definition: JsonObject = {}
  for (const member of MEMBERS[kind]) if (value[member] !== undefined) definition[member] = value[member]
  if (kind === 'skills' && Array.isArray(definition.resources)) definition.resources = sortFiles(definition.resources)
  if (Array.isArray(definition.icons)) definition.icons = definition.icons.map(hashImage)
  const meta = extractMeta(value)
  return meta === undefined ? definition : { ...definition, _meta: meta }
}

/** Files by URI: servers may list them in any order. */
function sortFiles(files: unknown): JsonObject[] {
  const rows = filterObjects(files).map(({ uri, digest, size }) => ({ uri, digest, size }))
  return rows.sort((one, other) => (String(one.uri) < String(other.uri) ? -1 : 1))
}

function extractMeta({ _meta }: JsonObject): JsonObject | undefined {
  if (!isObject(_meta)) return undefined
  const metaEntries = META.filter(key => _meta[key] !== undefined).map(key => [key, _meta[key]] as const)
  return metaEntries.length === 0 ? undefined : Object.fromEntries(metaEntries)
}

/** Replaces an inline image by its hash, as it cannot be reviewed as text. */
function hashImage(icon: unknown): unknown {
  if (!isObject(icon) || typeof icon.src !== 'string' || !icon.src.startsWith('data:')) return icon
  return { ...icon, src: `data:sha256-${createHash('sha256').update(icon.src).digest('hex')}` }
}

/** Returns the name at the upstream. */
export function getDefinitionName(kind: PinKind, value: JsonObject): string {
  return String(value[kind === 'instructions' ? 'name' : LISTS[kind].key])
}

/** Finds a name's pin, or the pinned skill that has this file or directory. */
export function findPin(pins: UpstreamPins | undefined, kind: PinKind, name: string): Pin | undefined {
  const pin = pins?.get(createPinKey(kind, name))
  if (pin !== undefined || kind !== 'skills') return pin
  const path = `${canonicalizeUri(name)}/`
  const isWithin = (one: Pin): boolean => path.startsWith(canonicalizeUri(one.name).replace(/[^/]*$/, ''))
  return [...(pins?.values() ?? [])].find(one => one.kind === 'skills' && isWithin(one))
}

export function createPinKey(kind: PinKind, name: string): string {
  return `${kind} ${name}`
}

/** Pins an upstream's current description. Of duplicate names the first is used, as by clients. */
export function createPins(described: JsonObject): UpstreamPins {
  const pins = new Map<string, Pin>()
  const addPin = (kind: PinKind, definition: JsonObject): void => {
    const name = getDefinitionName(kind, definition)
    const key = createPinKey(kind, name)
    if (!pins.has(key)) pins.set(key, { kind, name, hash: hashValue(definition), definition })
  }
  const instructions = readText(described, 'instructions')
  if (instructions !== undefined) addPin('instructions', createInstructions(instructions))
  for (const kind of PINNED)
    for (const value of readList(described, 'lists', kind))
      if (isObject(value)) addPin(kind, extractDefinition(kind, value))
  return pins
}

export function createInstructions(text: string): JsonObject {
  return { name: 'instructions', description: text }
}

/** Hashes the canonical JSON with SHA-256; the prefix is the version of this scheme. */
export function hashValue(value: unknown): string {
  return `v1:${createHash('sha256').update(canonicalizeJson(value)).digest('hex')}`
}

/** Sorts object keys recursively. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, sortKeys(member)]))
}
