import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { ClientDefinition } from './clients.ts'
import type { ClientInputs, PlaceholderStyle } from './tokens.ts'
import { PLACEHOLDER_REWRITERS } from './tokens.ts'

/** Creates a local program's entry. */
export function createLocalEntry(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): JsonObject {
  return {
    ...{ type: 'stdio', command },
    ...(args.length === 0 ? {} : { args }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
  }
}

/** Creates a remote server's entry. */
export function createRemoteEntry(
  url: string,
  type: string = inferType(url),
  headers: Readonly<Record<string, string>> = {},
): JsonObject {
  return { type, url, ...(Object.keys(headers).length === 0 ? {} : { headers }) }
}

export interface EntryValues {
  readonly name: string
  /** A stdio entry's program and arguments. */
  readonly line: readonly string[]
  /** The same with absolute paths, for clients without a shell's PATH. */
  readonly absoluteLine?: readonly string[]
  readonly url?: string
}

/** Creates a client's gateway entry. Returns undefined if the client does not support URLs. */
export function createClientEntry(
  { stdio, http, desktop = false }: Pick<ClientDefinition, 'stdio' | 'http' | 'desktop'>,
  { name, line: ownLine, absoluteLine = ownLine, url }: EntryValues,
): JsonObject | undefined {
  const line = desktop ? absoluteLine : ownLine
  const [command, ...args] = line
  const values: Readonly<Record<string, unknown>> = {
    $name: name,
    $command: command,
    $args: args,
    $line: line,
    $url: url,
  }
  const form = url === undefined ? stdio : http
  if (form === undefined) return undefined
  return Object.fromEntries(
    Object.entries(form).map(([key, value]) => [
      key,
      typeof value === 'string' && value in values ? values[value] : value,
    ]),
  )
}

/** Converted upstream, or the reason why it cannot be one. */
type ConversionResult = { readonly upstream: JsonObject } | { readonly why: string }

/** Converts a client entry key. Returns false if it is not supported; adds unsupported parts to `lost`. */
type KeyConverter = (value: unknown, into: UpstreamDraft, lost: string[]) => boolean | void

interface UpstreamDraft {
  readonly spec: JsonObject
  readonly tools: { allow?: unknown; deny?: unknown }
  type: string | undefined
  readonly directory: string
}

/** Unit of `timeout`; clients that share a format differ. */
export type TimeoutUnit = 'seconds' | 'milliseconds' | 'seconds to start' | 'either'

interface EntryReporter {
  /** Reports a setting that could not be converted. */
  note(text: string): void
  /** Reports a key that only concerns the client. */
  leave(key: string): void
}

interface EntryFormat {
  readonly placeholders: PlaceholderStyle
  readonly timeout: TimeoutUnit
  readonly inputs: ClientInputs
  /** Project directory, the base for relative paths. */
  readonly directory: string
}

/** Converts a client entry to an upstream. */
export function convertEntry(
  server: JsonObject,
  writing: EntryFormat,
  { note, leave }: EntryReporter,
): ConversionResult {
  const draft: UpstreamDraft = { spec: {}, tools: {}, type: undefined, directory: writing.directory }
  const lost: string[] = []
  const notes: string[] = []
  for (const [key, value] of Object.entries(flattenEntry(server))) {
    const ofKey: string[] = []
    const carry = key === 'timeout' ? TIMEOUT_CONVERTERS[writing.timeout] : KEY_CONVERTERS.get(key)
    const filling = {
      inputs: writing.inputs,
      note: (text: string) => void ofKey.push(text),
      disable: () => carry && (draft.spec.enabled = false),
    }
    const rewritten = mapStrings(value, text => PLACEHOLDER_REWRITERS[writing.placeholders](text, filling))
    const isCarried = carry !== undefined && carry(rewritten, draft, lost) !== false
    if (isCarried) notes.push(...ofKey)
    else if (IGNORED_KEYS.has(key)) leave(key)
    else lost.push(key)
  }
  const converted = finishDraft(draft, text => void notes.push(text))
  // A skipped entry needs no other notes.
  if (!('upstream' in converted)) return converted
  for (const text of notes) note(text)
  for (const key of lost) note(`"${key}" is not supported and was skipped`)
  return converted
}

function finishDraft({ spec, tools, type }: UpstreamDraft, note: (text: string) => void): ConversionResult {
  const { command, url, ...rest } = spec
  const filter = Object.keys(tools).length > 0 ? { tools } : {}
  if (typeof url === 'string') {
    const remote = dropKeys(rest, STDIO_KEYS, 'a server with a URL', note)
    if (command !== undefined) note('"command" does not apply to a server with a URL and was skipped')
    if (!isReachable(url)) return { why: `${url} is not a URL that a gateway can reach` }
    return { upstream: { ...createRemoteEntry(url, type), ...remote, ...filter } }
  }
  if (typeof command !== 'string') return { why: 'it has neither a command nor a URL' }
  if (type !== undefined) note(`"type" is ${type}, which does not apply to a server with a command, and was skipped`)
  const local = dropKeys(rest, HTTP_KEYS, 'a server with a command', note)
  return { upstream: { type: 'stdio', command, ...escapeOwnVariables(local), ...filter } }
}

/** Escapes arguments with variables of the entry's own `env`, which the server expands itself. */
function escapeOwnVariables(spec: JsonObject): JsonObject {
  const { args, env } = spec
  if (!Array.isArray(args) || !isObject(env)) return spec
  const isOwn = (name: string): boolean => Object.hasOwn(env, name) && env[name] !== `\${${name}}`
  const escapedArgs = args.map(arg =>
    String(arg).replace(/(?<!\$)\$\{(\w+)\}/g, (placeholder, name: string) =>
      isOwn(name) ? `$${placeholder}` : placeholder,
    ),
  )
  return { ...spec, args: escapedArgs }
}

/** True for a supported URL, or one that begins with a variable. */
function isReachable(url: string): boolean {
  const isKnown = /^((https?|wss?):\/\/|\$\{)/i.test(url) && !url.includes('$${')
  return isKnown && !/\s/.test(url.replace(/\$\{[^}]*\}/g, 'x'))
}

const STDIO_KEYS: readonly string[] = ['args', 'env', 'cwd']
const HTTP_KEYS: readonly string[] = ['headers']

function dropKeys(
  spec: JsonObject,
  keys: readonly string[],
  serverKind: string,
  note: (text: string) => void,
): JsonObject {
  for (const key of keys) if (spec[key] !== undefined) note(`"${key}" does not apply to ${serverKind} and was skipped`)
  return Object.fromEntries(Object.entries(spec).filter(([key]) => !keys.includes(key)))
}

/** Infers the transport from the URL. */
function inferType(url: string): string {
  if (/^wss?:/.test(url)) return 'ws'
  return /\/sse\/?(\?|$)/.test(url) ? 'sse' : 'http'
}

/** Zed nests the command, Continue the transport. */
function flattenEntry({ command, transport, ...rest }: JsonObject): JsonObject {
  if (isObject(command)) {
    const { path, ...more } = command
    return { ...rest, ...more, command: path }
  }
  const outer = command === undefined ? rest : { ...rest, command }
  if (isObject(transport)) return { ...outer, ...transport }
  return transport === undefined ? outer : { ...outer, transport }
}

function mapStrings(value: unknown, text: (text: string) => string): unknown {
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return value.map(item => mapStrings(item, text))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, text)]))
}

const TYPE_NAMES: Readonly<Record<string, string | undefined>> = {
  http: 'http',
  'streamable-http': 'http',
  streamablehttp: 'http',
  streamable_http: 'http',
  sse: 'sse',
  ws: 'ws',
  websocket: 'ws',
}

/** Types that command or URL already imply. */
const PLAIN_TYPES: ReadonlySet<string> = new Set(['stdio', 'local', 'remote'])

/** Returns false for an unknown type. */
function convertType(value: unknown, into: UpstreamDraft): boolean {
  if (typeof value !== 'string') return false
  into.type = TYPE_NAMES[value.toLowerCase()]
  return into.type !== undefined || PLAIN_TYPES.has(value.toLowerCase())
}

function convertCommand(value: unknown, { spec }: UpstreamDraft): boolean {
  const [command, ...args] = Array.isArray(value) ? value.map(String) : [value]
  if (typeof command !== 'string') return false
  spec.command = command
  if (args.length > 0) spec.args = [...args, ...((spec.args as string[] | undefined) ?? [])]
  return true
}

/** Appends arguments to those of a command array. A string is rejected, since it cannot be split reliably. */
function convertArguments(value: unknown, { spec }: UpstreamDraft): boolean {
  if (value === undefined || value === null) return true
  if (!Array.isArray(value) || value.some(item => typeof item === 'object')) return false
  if (value.length > 0) spec.args = [...((spec.args as string[] | undefined) ?? []), ...value.map(String)]
  return true
}

function copyKey(key: string): KeyConverter {
  return (value, { spec }, lost) => {
    if (value === undefined || value === null || isEmpty(value)) return true
    if (key === 'env' || key === 'headers') return isObject(value) && convertMap(key, value, spec, lost)
    if (typeof value !== 'string' || (spec[key] ?? value) !== value) return false
    spec[key] = value
    return true
  }
}

/** Copies string values; skips null and nested maps. */
function convertMap(key: string, value: JsonObject, spec: JsonObject, lost: string[]): true {
  for (const [name, item] of Object.entries(value))
    if (typeof item === 'object') lost.push(`${key}.${name}`)
    else spec[key] = { ...(spec[key] as JsonObject | undefined), [name]: String(item) }
  return true
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

function setHeader(name: string, value: string, { spec }: UpstreamDraft): void {
  spec.headers = { ...(spec.headers as JsonObject | undefined), [name]: value }
}

function createHeadersReader(write: (value: string) => string | undefined): KeyConverter {
  return (value, into, lost) => {
    if (!isObject(value)) return false
    for (const [name, item] of Object.entries(value)) {
      const text = typeof item === 'object' ? undefined : write(String(item))
      if (text === undefined) lost.push(`headers.${name}`)
      else setHeader(name, text, into)
    }
    return true
  }
}

/** True for a plain variable name. */
function isVariable(name: unknown): name is string {
  return typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name)
}

/** Keeps a `.env` file, which the gateway reads too, if it exists. */
function convertEnvFile(value: unknown, { spec, directory }: UpstreamDraft): boolean {
  if (typeof value !== 'string' || value.includes('${') || !existsSync(resolve(directory, value))) return false
  spec.envFile = value
  return true
}

/** Variables that the server inherits from the client, by name. */
function convertInherited(value: unknown, { spec }: UpstreamDraft): boolean {
  if (!Array.isArray(value) || !value.every(isVariable)) return false
  const filled = Object.fromEntries(value.map(name => [name, `\${${name}}`]))
  spec.env = { ...filled, ...(spec.env as JsonObject | undefined) }
  return true
}

/** Continue stores headers in its request options. */
function convertRequestOptions(value: unknown, into: UpstreamDraft, lost: string[]): boolean {
  if (!isObject(value) || Object.keys(value).some(key => key !== 'headers')) return false
  return createHeadersReader(text => text)(value.headers, into, lost) !== false
}

function convertMilliseconds(key: string): KeyConverter {
  return (value, { spec }) => typeof value === 'number' && value > 0 && void (spec[key] = Math.ceil(value))
}

function convertSeconds(key: string): KeyConverter {
  return (value, { spec }) => typeof value === 'number' && value > 0 && void (spec[key] = `${Math.ceil(value)}s`)
}

const TIMEOUT_CONVERTERS: Readonly<Record<TimeoutUnit, KeyConverter>> = {
  seconds: convertSeconds('timeout'),
  milliseconds: convertMilliseconds('timeout'),
  'seconds to start': convertSeconds('startupTimeout'),
  // Most clients use milliseconds; small numbers are seconds.
  either: (value, into, lost) =>
    (Number(value) < 1000 ? convertSeconds('timeout') : convertMilliseconds('timeout'))(value, into, lost),
}

function convertEnabled(expected: boolean): KeyConverter {
  return (value, { spec }) => {
    if (typeof value !== 'boolean') return false
    if (value !== expected) spec.enabled = false
    return true
  }
}

function convertToolFilter(key: 'allow' | 'deny'): KeyConverter {
  return (value, { tools }) => {
    if (!Array.isArray(value)) return false
    if (key === 'deny' || !value.includes('*')) tools[key] = value.map(String)
    return true
  }
}

/** Converters by the names that clients have for a key. */
const KEYS: readonly (readonly [names: string, convert: KeyConverter])[] = [
  ['type transport transportType', convertType],
  ['command cmd', convertCommand],
  ['args', convertArguments],
  ['env envs environment', copyKey('env')],
  ['envFile', convertEnvFile],
  ['cwd workingDirectory working_directory', copyKey('cwd')],
  ['url uri serverUrl server_url httpUrl', copyKey('url')],
  ['headers http_headers', copyKey('headers')],
  [
    'bearer_token_env_var',
    (value, into) => isVariable(value) && setHeader('Authorization', `Bearer \${${value}}`, into),
  ],
  ['bearer_token', (value, into) => setHeader('Authorization', `Bearer ${String(value)}`, into)],
  ['env_http_headers', createHeadersReader(variable => (isVariable(variable) ? `\${${variable}}` : undefined))],
  ['requestOptions', convertRequestOptions],
  ['env_vars env_keys', convertInherited],
  ['startup_timeout_ms initTimeout connectionTimeout', convertMilliseconds('startupTimeout')],
  ['startup_timeout_sec', convertSeconds('startupTimeout')],
  ['tool_timeout_sec', convertSeconds('timeout')],
  ['enabled', convertEnabled(true)],
  ['disabled', convertEnabled(false)],
  ['enabled_tools includeTools enabledTools allowedTools available_tools tools', convertToolFilter('allow')],
  ['disabled_tools excludeTools disabledTools', convertToolFilter('deny')],
]
const KEY_CONVERTERS: ReadonlyMap<string, KeyConverter> = new Map(
  KEYS.flatMap(([names, convert]) => names.split(' ').map(name => [name, convert] as const)),
)

/** Keys without meaning for a gateway: display names, descriptions, client permissions. */
const IGNORED_KEYS: ReadonlySet<string> = new Set(
  (
    'name description display_name displayName title icon iconPath version source bundled gallery chatMenu ' +
    'trust autoApprove auto_approve alwaysAllow always_allow default_tools_approval_mode'
  ).split(' '),
)
