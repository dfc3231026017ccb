import type { JsonObject } from './json/json.ts'

/** legacy: `initialize` handshake, up to 2025-11-25. modern: per-request metadata, from 2026-07-28. */
export type Era = 'legacy' | 'modern'

export const MODERN_VERSION = '2026-07-28'
export const LATEST_LEGACY_VERSION = '2025-11-25'
/** Version assumed of a legacy HTTP client that sends no version header (2025-11-25, transports). */
const ASSUMED_LEGACY_VERSION = '2025-03-26'

/** Legacy versions we speak, newest first. */
export const LEGACY_VERSIONS: readonly string[] = [
  LATEST_LEGACY_VERSION,
  '2025-06-18',
  ASSUMED_LEGACY_VERSION,
  '2024-11-05',
  '2024-10-07',
]

/** Modern versions we speak, newest first. */
export const MODERN_VERSIONS: readonly string[] = [MODERN_VERSION]

export function isModern(version: string): boolean {
  return MODERN_VERSIONS.includes(version)
}

export function isLegacy(version: string): boolean {
  return LEGACY_VERSIONS.includes(version)
}

/** Tells whether a version string is of the modern line, served by us or not. ISO dates compare as text. */
export function looksModern(version: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(version) && version >= MODERN_VERSION
}

/** The version to answer `initialize` with: the client's own if we speak it, else our latest legacy one. */
export function negotiateLegacy(requested: unknown): string {
  return typeof requested === 'string' && isLegacy(requested) ? requested : LATEST_LEGACY_VERSION
}

/** Client that reads a message, as far as the form of the message depends on it. */
export interface ClientVersion {
  readonly era: Era
  readonly version: string
  readonly capabilities: JsonObject
}

const NEWEST: Readonly<Record<Era, ClientVersion>> = {
  legacy: { era: 'legacy', version: LATEST_LEGACY_VERSION, capabilities: {} },
  modern: { era: 'modern', version: MODERN_VERSION, capabilities: {} },
}

/** A client of which only the era is known: it reads the newest form of it. */
export function getNewestVersion(era: Era): ClientVersion {
  return NEWEST[era]
}

/** The first version with structured output and resource links. */
export const STRUCTURED_SINCE = '2025-06-18'

/** Keys of `params._meta` and `result._meta` (2026-07-28, basic). */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** HTTP header names, lower case as Node gives them. */
export const HEADER = {
  version: 'mcp-protocol-version',
  method: 'mcp-method',
  name: 'mcp-name',
  param: 'mcp-param-',
  session: 'mcp-session-id',
  lastEventId: 'last-event-id',
} as const

/** The four kinds of thing a server offers by list. */
export type Kind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

interface MethodRow {
  /** Eras that have it; both when absent. */
  readonly era?: Era
  /** Receiver of the call: the gateway, every upstream that has the method, or the one that owns the name. */
  readonly to: 'gateway' | 'list' | 'owner'
  /** The kind of thing it lists or addresses. */
  readonly kind?: Kind
  /** The parameter that names its target. */
  readonly target?: 'name' | 'uri' | 'ref' | 'taskId'
  /** The server capability it needs. */
  readonly capability?: string
  /** Marks methods whose modern result carries `ttlMs` and `cacheScope` (2026-07-28, caching). */
  readonly cacheable?: boolean
}

/** Every client method we know. What is not here passes through untouched where there is one place for it to go. */
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
  [
    'resources/templates/list',
    { to: 'list', kind: 'resourceTemplates', capability: 'resources', cacheable: true },
  ],
  [
    'resources/read',
    { to: 'owner', kind: 'resources', target: 'uri', capability: 'resources', cacheable: true },
  ],
  [
    'resources/subscribe',
    { to: 'owner', era: 'legacy', kind: 'resources', target: 'uri', capability: 'resources' },
  ],
  [
    'resources/unsubscribe',
    { to: 'owner', era: 'legacy', kind: 'resources', target: 'uri', capability: 'resources' },
  ],
  ['completion/complete', { to: 'owner', target: 'ref', capability: 'completions' }],
  ['tasks/get', { to: 'owner', target: 'taskId' }],
  ['tasks/update', { to: 'owner', era: 'modern', target: 'taskId' }],
  ['tasks/cancel', { to: 'owner', target: 'taskId' }],
  ['tasks/result', { to: 'owner', era: 'legacy' }],
  ['tasks/list', { to: 'owner', era: 'legacy' }],
])

interface ListRow {
  readonly method: string
  /** The member of the result that holds the entries. */
  readonly member: Kind
  /** The member of an entry that identifies it. */
  readonly key: 'name' | 'uri' | 'uriTemplate'
  readonly capability: 'tools' | 'prompts' | 'resources'
  readonly changed: string
}

/** Methods, members and notifications by which each kind is listed. */
export const LISTS: Readonly<Record<Kind, ListRow>> = {
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
}

export const KINDS: readonly Kind[] = ['tools', 'prompts', 'resources', 'resourceTemplates']

/** Tells whether a client of this era may call a method: one that the era removed is an unknown method there. */
export function hasMethod(method: string, era: Era): boolean {
  const row = METHODS.get(method)
  return row?.era === undefined || row.era === era
}

/** The notifications that a list is another one now: `list_changed` of tools, prompts and resources. */
export const LIST_CHANGES: readonly string[] = [...new Set(KINDS.map(kind => LISTS[kind].changed))]

/** The kinds that a `list_changed` notification is about. */
export function getChangedKinds(notification: string): readonly Kind[] {
  return KINDS.filter(kind => LISTS[kind].changed === notification)
}

/**
 * Tells whether a notification says only that something is to be read again: one is as good as many, and of two that are the
 * same the last is enough.
 */
export function isChangeNotification(notification: string): boolean {
  return notification === 'notifications/resources/updated' || LIST_CHANGES.includes(notification)
}

/** Members of `subscriptions/listen` that ask for changes of a list. */
export const LISTEN_FLAGS = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged',
} as const
