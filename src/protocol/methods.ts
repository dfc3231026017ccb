import type { JsonObject } from './json/json.ts'

/** legacy: `initialize` handshake, up to 2025-11-25. modern: per-request metadata, from 2026-07-28. */
export type Era = 'legacy' | 'modern'

export const MODERN_VERSION = '2026-07-28'
export const LATEST_LEGACY_VERSION = '2025-11-25'
/** Version of a legacy HTTP client without a version header (2025-11-25, transports). */
const ASSUMED_LEGACY_VERSION = '2025-03-26'

/** Supported legacy versions, newest first. */
export const LEGACY_VERSIONS: readonly string[] = [
  LATEST_LEGACY_VERSION,
  '2025-06-18',
  ASSUMED_LEGACY_VERSION,
  '2024-11-05',
  '2024-10-07',
]

/** Supported modern versions, newest first. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_VERSION]

export function isModern(version: string): boolean {
  return MODERN_VERSIONS.includes(version)
}

export function isLegacy(version: string): boolean {
  return LEGACY_VERSIONS.includes(version)
}

/** Returns true for modern versions, supported or not. ISO dates compare as text. */
export function looksModern(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= MODERN_VERSION
}

/** Returns the version for the `initialize` result: the client's if supported, else the latest legacy one. */
export function negotiateLegacy(requested: unknown): string {
  return typeof requested === 'string' && isLegacy(requested) ? requested : LATEST_LEGACY_VERSION
}

/** Client version and capabilities that determine the form of its messages. */
export interface ClientVersion {
  readonly era: Era
  readonly version: string
  readonly capabilities: JsonObject
}

const NEWEST: Readonly<Record<Era, ClientVersion>> = {
  legacy: { era: 'legacy', version: LATEST_LEGACY_VERSION, capabilities: {} },
  modern: { era: 'modern', version: MODERN_VERSION, capabilities: {} },
}

/** Returns the newest client version of an era, for a client of which only the era is known. */
export function getNewestVersion(era: Era): ClientVersion {
  return NEWEST[era]
}

/** First version with structured output and resource links. */
export const STRUCTURED_SINCE = '2025-06-18'

/** Keys of `params._meta` and `result._meta` (2026-07-28, basic). */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  /** 2025-11-25 only. */
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const

/** HTTP header names in lower case, as in Node. */
export const HEADER = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  param: 'mcp-param-',
  session: 'mcp-session-id',
  lastEventId: 'last-event-id',
} as const

/** List entry kinds. */
export type Kind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

/** Kinds that rules judge: those of the catalog, and skills, whose lists are not merged. */
export type EntryKind = Kind | 'skills'

interface MethodRow {
  /** Eras with this method; both if absent. */
  readonly era?: Era
  /** Receiver: the gateway, every upstream with the method, or the owner of the name. */
  readonly to: 'gateway' | 'list' | 'owner'
  /** Kind that it lists or addresses. */
  readonly kind?: Kind
  /** Parameter with the target's name. */
  readonly target?: 'name' | 'uri' | 'ref' | 'taskId'
  /** Required server capability. */
  readonly capability?: string
  /** True if the modern result has `ttlMs` and `cacheScope` (2026-07-28, caching). */
  readonly cacheable?: boolean
}

/** Known client methods. Unknown methods are forwarded unchanged if only one upstream is possible. */
export const METHODS: ReadonlyMap<string, MethodRow> = new Map<string, MethodRow>([
  ['initialize', { to: 'gateway', era: 'legacy' }],
  ['ping', { to: 'gateway', era: 'legacy' }],
  ['logging/setLevel', { to: 'gateway', era: 'legacy', capability: 'logging' }],
  ['server/discover', { to: 'gateway', era: 'modern', cacheable: true }],
  ['subscriptions/listen', { to: 'gateway', era: 'modern' }],
  ['tools/list', { to: 'list', kind: 'tools', capability: 'tools', cacheable: true }],
  ['tools/call', { to: 'owner', kind: 'tools', target: 'name', capability: 'tools' }],
  ['prompts/list', { to: 'list', kind: 'prompts', capability: 'prompts', cacheable: true }],
  ['prompts/get', { to: 'owner', kind: 'prompts', target: 'name', capability: 'prompts' }],
  ['resources/list', { to: 'list', kind: 'resources', capability: 'resources', cacheable: true }],
  ['resources/templates/list', { to: 'list', kind: 'resourceTemplates', capability: 'resources', cacheable: true }],
  ['resources/read', { to: 'owner', kind: 'resources', target: 'uri', capability: 'resources', cacheable: true }],
  ['resources/subscribe', { to: 'owner', era: 'legacy', kind: 'resources', target: 'uri', capability: 'resources' }],
  ['resources/unsubscribe', { to: 'owner', era: 'legacy', kind: 'resources', target: 'uri', capability: 'resources' }],
  ['completion/complete', { to: 'owner', target: 'ref', capability: 'completions' }],
  ['tasks/get', { to: 'owner', target: 'taskId' }],
  ['tasks/update', { to: 'owner', era: 'modern', target: 'taskId' }],
  ['tasks/cancel', { to: 'owner', target: 'taskId' }],
  ['tasks/result', { to: 'owner', era: 'legacy' }],
  ['tasks/list', { to: 'owner', era: 'legacy' }],
])

/** An extension method. Its plugin routes it; otherwise the only upstream that announces the extension gets it. */
interface ExtensionRow extends Pick<MethodRow, 'to' | 'target' | 'era' | 'cacheable'> {
  readonly extension: string
  readonly kind: EntryKind
}

/** Extension for skills (SEP-2640). */
export const SKILLS = 'io.modelcontextprotocol/skills'

/** Known extension methods. A new extension with several upstreams adds its rows here. */
export const EXTENSION_METHODS: ReadonlyMap<string, ExtensionRow> = new Map<string, ExtensionRow>([
  ['skills/list', { extension: SKILLS, to: 'list', kind: 'skills', cacheable: true }],
  ['skills/get', { extension: SKILLS, to: 'owner', kind: 'skills', target: 'uri', cacheable: true }],
  ['resources/directory/read', { extension: SKILLS, to: 'owner', kind: 'skills', target: 'uri' }],
])

/** Returns true if a method belongs to an extension: by its row, or as `own/list` to `example.com/own`. */
export function isExtensionMethod(extension: string, method: string): boolean {
  const row = EXTENSION_METHODS.get(method)
  if (row !== undefined) return row.extension === extension
  return method.startsWith(`${extension.slice(extension.lastIndexOf('/') + 1)}/`)
}

interface ListRow {
  readonly method: string
  /** Result member with the entries. */
  readonly member: EntryKind
  /** Entry member with its identifier. */
  readonly key: 'name' | 'uri' | 'uriTemplate'
  readonly capability: 'tools' | 'prompts' | 'resources'
  readonly changed: string
}

/** Methods, members and notifications for each list kind. */
export const LISTS: Readonly<Record<EntryKind, ListRow>> = {
  tools: {
    method: 'tools/list',
    member: 'tools',
    key: 'name',
    capability: 'tools',
    changed: 'notifications/tools/list_changed',
  },
  prompts: {
    method: 'prompts/list',
    member: 'prompts',
    key: 'name',
    capability: 'prompts',
    changed: 'notifications/prompts/list_changed',
  },
  resources: {
    method: 'resources/list',
    member: 'resources',
    key: 'uri',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
  },
  resourceTemplates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    key: 'uriTemplate',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
  },
  skills: {
    method: 'skills/list',
    member: 'skills',
    key: 'uri',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
  },
}

export const KINDS: readonly Kind[] = ['tools', 'prompts', 'resources', 'resourceTemplates']

/** Returns true if an era has the method. */
export function hasMethod(method: string, era: Era): boolean {
  const row = METHODS.get(method)
  return row?.era === undefined || row.era === era
}

/** Notifications for changed lists: `list_changed` of tools, prompts and resources. */
export const LIST_CHANGES: readonly string[] = [...new Set(KINDS.map(kind => LISTS[kind].changed))]

/** Returns the kinds of a `list_changed` notification. */
export function getChangedKinds(notification: string): readonly Kind[] {
  return KINDS.filter(kind => LISTS[kind].changed === notification)
}

/** `subscriptions/listen` members for list changes. */
export const LISTEN_FLAGS = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const
