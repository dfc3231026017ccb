import { basename, extname } from 'node:path'
import { readText } from '../../config/source/read-text.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readList } from '../../util/plain-data.ts'
import type { TimeoutUnit } from './server-entry.ts'
import { convertEntry } from './server-entry.ts'
import { parseSettings } from './settings-editor.ts'
import type { ClientInputs, PlaceholderStyle } from './tokens.ts'

const SETTINGS_FORMATS: Readonly<Record<string, 'toml' | 'yaml'>> = {
  '.toml': 'toml',
  '.yaml': 'yaml',
  '.yml': 'yaml',
}
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Reads client settings, after `edit`. The file extension selects JSON (with comments and trailing commas), TOML or
 * YAML.
 */
export async function readSettings(
  file: string,
  edit: (text: string) => string | Promise<string> = text => text,
): Promise<JsonObject> {
  const contents = readText(file, MAX_BYTES)
  if ('why' in contents) throw createImportError(file, contents.why)
  const { text } = contents
  let value: unknown
  try {
    value = await parseSettings(await edit(text), SETTINGS_FORMATS[extname(file).toLowerCase()] ?? 'json')
  } catch (error) {
    throw createImportError(file, getErrorMessage(error).split('\n')[0] ?? '')
  }
  if (!isObject(value)) throw createImportError(file, 'not a map')
  return value
}

function createImportError(file: string, reason: string): Error {
  return gatewayError('GW_IMPORT', { file, why: reason })
}

interface ServerEntry {
  /** Name in the client settings. */
  readonly originalName: string
  readonly upstream: JsonObject
}

export interface EntryNotes {
  note(name: string, text: string): void
  leave(name: string, key: string): void
}

/**
 * Converts all servers except gateways and unsupported entries.
 * @throws GatewayError GW_IMPORT if the settings contain no servers
 */
export function convertServers(
  settings: JsonObject,
  { file, directory }: { readonly file: string; readonly directory: string },
  { note, leave }: EntryNotes,
): { readonly format: string; readonly entries: readonly ServerEntry[] } {
  const { format, servers, inputs } = detectFormat(mergeProjectServers(settings, directory, note), file)
  const entries = [...servers].flatMap(([originalName, server]): ServerEntry[] => {
    if (isObject(server) && isOwnGateway(server)) return []
    const converted = isObject(server)
      ? convertEntry(
          server,
          { ...format, inputs, directory },
          { note: text => note(originalName, text), leave: key => leave(originalName, key) },
        )
      : { why: 'not a map' }
    if ('upstream' in converted) return [{ originalName, upstream: converted.upstream }]
    note(originalName, `skipped: ${converted.why}`)
    return []
  })
  return { format: format.title, entries }
}

/** True for an entry of this gateway. */
function isOwnGateway({ command, args }: JsonObject): boolean {
  const commandLine = [command, args].flat().filter(part => typeof part === 'string')
  const isGateway = commandLine.some(part => /^(gateway|run\.js)(\.cmd)?$/.test(basename(part)))
  return isGateway && commandLine.some(part => part === 'attach' || part === 'serve')
}

/** Client family settings format. */
interface ClientFormat {
  /** Display name. */
  readonly title: string
  readonly placeholders: PlaceholderStyle
  readonly timeout: TimeoutUnit
  /** Returns the servers by name, or undefined for another format. */
  servers(settings: JsonObject, file: string): ReadonlyMap<string, unknown> | undefined
}

/** Top-level keys of server lists. `mcpServers` is the most common. */
const CLIENT_FORMATS: readonly ClientFormat[] = [
  {
    title: 'Codex',
    placeholders: 'none',
    timeout: 'either',
    servers: ({ mcp_servers }) => readServerMap(mcp_servers) ?? readServerList(mcp_servers),
  },
  {
    title: 'Crush',
    placeholders: 'dollar',
    timeout: 'seconds to start',
    servers: ({ $schema, mcp }, file) =>
      /crush/.test(String($schema)) || /\bcrush\.json$/.test(file) ? readServerMap(mcp) : undefined,
  },
  {
    title: 'opencode',
    placeholders: 'opencode',
    timeout: 'milliseconds',
    servers: ({ mcp }) => readServerMap(mcp),
  },
  {
    title: 'Amp',
    placeholders: 'braces',
    timeout: 'either',
    servers: settings => readServerMap(settings['amp.mcpServers']),
  },
  {
    title: 'Zed',
    placeholders: 'none',
    timeout: 'either',
    servers: ({ context_servers }) => readServerMap(context_servers),
  },
  {
    title: 'Goose',
    placeholders: 'none',
    timeout: 'seconds',
    servers: ({ extensions }) => readServerMap(extensions),
  },
  {
    title: 'Continue',
    placeholders: 'braces',
    timeout: 'either',
    servers: ({ mcpServers }) => readServerList(mcpServers),
  },
  {
    title: 'Gemini',
    placeholders: 'dollar',
    timeout: 'milliseconds',
    servers: (settings, file) => (isGemini(file, settings.mcpServers) ? readGeminiServers(settings) : undefined),
  },
  {
    title: 'Cline, Roo Code',
    placeholders: 'braces',
    timeout: 'seconds',
    servers: ({ mcpServers }, file) => (CLINE_FILE.test(file) ? readServerMap(mcpServers) : undefined),
  },
  {
    title: 'Claude, Cursor, Windsurf and others',
    placeholders: 'braces',
    timeout: 'either',
    servers: ({ mcpServers }) => readServerMap(mcpServers),
  },
  {
    title: 'VS Code',
    placeholders: 'braces',
    timeout: 'either',
    servers: ({ servers, mcp }) => readServerMap(servers ?? readNestedServers(mcp)),
  },
]

/** Settings of Cline and its forks Roo Code and Kilo Code. */
const CLINE_FILE = /(^|[/\\])(cline_mcp_settings|(\.roo|\.kilocode)[/\\]mcp|settings[/\\]mcp_settings)\.json$/

/** Detects the format and returns its servers and inputs. */
export function detectFormat(
  settings: JsonObject,
  file: string,
): { format: ClientFormat; servers: ReadonlyMap<string, unknown>; inputs: ClientInputs } {
  for (const format of CLIENT_FORMATS) {
    const servers = format.servers(settings, file)
    if (servers !== undefined) return { format, servers, inputs: parseClientInputs(settings) }
  }
  const reason =
    'no servers found: expected mcpServers, servers, mcp, mcp_servers, context_servers, extensions or localServers'
  throw gatewayError('GW_IMPORT', { file, why: reason })
}

/** True for settings of Gemini CLI or its fork Qwen Code, by path or by the `httpUrl` key. */
function isGemini(file: string, servers: unknown): boolean {
  if (/\.(gemini|qwen)[/\\]settings\.json$/.test(file)) return true
  return isObject(servers) && Object.values(servers).some(server => isObject(server) && 'httpUrl' in server)
}

/** Disables the servers that Gemini's lists exclude. */
function readGeminiServers({ mcpServers, mcp }: JsonObject): ReadonlyMap<string, unknown> | undefined {
  const [allowed, excluded] = [readList(mcp, 'allowed'), readList(mcp, 'excluded')]
  const isOff = (name: string): boolean => excluded.includes(name) || (allowed.length > 0 && !allowed.includes(name))
  const servers = readServerMap(mcpServers)
  return servers && new Map([...servers].map(([name, own]) => [name, isOff(name) ? disableServer(own) : own]))
}

function disableServer(server: unknown): unknown {
  return isObject(server) ? { ...server, enabled: false } : server
}

function readServerMap(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (!isObject(value)) return undefined
  const servers = Object.entries(value)
  return servers.some(([, server]) => isObject(server) && isServer(server)) ? new Map(servers) : undefined
}

function readServerList(value: unknown): ReadonlyMap<string, JsonObject> | undefined {
  if (!Array.isArray(value)) return undefined
  const servers = value.filter(isObject)
  return new Map(
    servers.map((server, index) => [typeof server.name === 'string' ? server.name : `server-${index + 1}`, server]),
  )
}

/** Inputs of VS Code, with defaults. */
function parseClientInputs({ inputs, mcp }: JsonObject): ClientInputs {
  const definitions = inputs ?? (isObject(mcp) ? mcp.inputs : undefined)
  const list = Array.isArray(definitions) ? definitions.filter(isObject) : []
  return new Map(list.map(input => [String(input.id), input]))
}

function readNestedServers(value: unknown): unknown {
  return isObject(value) ? value.servers : undefined
}

const SERVER_KEYS = ['command', 'cmd', 'url', 'uri', 'serverUrl', 'server_url', 'httpUrl']

function isServer(server: JsonObject): boolean {
  return SERVER_KEYS.some(mark => mark in server) || isObject(server.transport) || isObject(server.command)
}

/**
 * Merges the project-specific servers of Claude Code for `directory` into the user's servers; `claude mcp add` writes
 * project-specific servers by default.
 */
export function mergeProjectServers(
  settings: JsonObject,
  directory: string,
  note: (name: string, text: string) => void,
): JsonObject {
  if (!isObject(settings.projects)) return settings
  let mcpServers = isObject(settings.mcpServers) ? settings.mcpServers : {}
  for (const [project, own] of Object.entries(settings.projects)) {
    const servers = isObject(own) && isObject(own.mcpServers) ? own.mcpServers : {}
    const names = Object.keys(servers)
    if (project === directory) mcpServers = { ...mcpServers, ...servers }
    else if (names.length > 0)
      note(names.join(', '), `skipped: belongs to project ${project}; run "gateway import" there`)
  }
  return { ...settings, mcpServers }
}
